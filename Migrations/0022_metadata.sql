-- Whether images hold metadata, such as EXIF, XMP, IPTC, comments, thumbnails and bytes behind their end.

-- NULL: the file was stored by an earlier version, and no program has looked at it since.
ALTER TABLE file ADD COLUMN has_metadata INTEGER CHECK (has_metadata IN (0, 1));
