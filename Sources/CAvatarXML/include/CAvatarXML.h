// The pull reader of the system's libxml2, over bytes that a callback gives. No document type, no entity of its own, no file and
// no network: a document that has a document type is refused.
#ifndef AVATAR_CAVATARXML_H
#define AVATAR_CAVATARXML_H

#include <stdbool.h>
#include <stddef.h>

typedef struct avatar_xml avatar_xml;

// Loads libxml2. Returns false if this system has none. Any thread may call it, any number of times.
bool avatar_xml_load(void);

// Reads up to `count` bytes into `buffer`. Returns their number, 0 at the end, or -1 on an error.
typedef int (*avatar_xml_read)(void *context, char *buffer, int count);

// A reader; NULL if memory or libxml2 is missing.
avatar_xml *avatar_xml_new(avatar_xml_read read, void *context);

void avatar_xml_free(avatar_xml *reader);

enum {
    AVATAR_XML_END = 0,
    AVATAR_XML_START,
    AVATAR_XML_TEXT,
    AVATAR_XML_CLOSE,
    AVATAR_XML_MALFORMED,
};

// Advances to the next element, text or end of an element. An empty element has a start and an end.
int avatar_xml_next(avatar_xml *reader);

// The local name and the namespace of the element at hand; NULL for none. They are valid until the next call of the reader.
const char *avatar_xml_name(avatar_xml *reader);
const char *avatar_xml_namespace(avatar_xml *reader);

// The text at hand, in UTF-8.
const char *avatar_xml_text(avatar_xml *reader);

#endif
