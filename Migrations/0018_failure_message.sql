-- The sentence about the last failure; NULL after a success, and after a failure that an earlier version recorded.

-- URLs in it have no user info, query or fragment.
ALTER TABLE avatar ADD COLUMN failure_message TEXT CHECK (failure_message <> '');

-- URLs in it are reduced to the host: a path would outlive the erasure of its image.
ALTER TABLE host ADD COLUMN failure_message TEXT CHECK (failure_message <> '');
