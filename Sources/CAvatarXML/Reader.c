#include "CAvatarXML.h"

#include <stdlib.h>

// Declared here, so that a build needs no headers of libxml2. The interface is the same since 2006.
typedef struct xml_text_reader xml_text_reader;

#define AVATAR_XML_FUNCTIONS(each) \
    each(xml_text_reader *, xmlReaderForIO, \
        (int (*read)(void *, char *, int), int (*close)(void *), void *context, const char *url, const char *encoding, \
            int options)) \
    each(void, xmlFreeTextReader, (xml_text_reader *)) \
    each(int, xmlTextReaderRead, (xml_text_reader *)) \
    each(int, xmlTextReaderNodeType, (xml_text_reader *)) \
    each(int, xmlTextReaderIsEmptyElement, (xml_text_reader *)) \
    each(const unsigned char *, xmlTextReaderConstLocalName, (xml_text_reader *)) \
    each(const unsigned char *, xmlTextReaderConstNamespaceUri, (xml_text_reader *)) \
    each(const unsigned char *, xmlTextReaderConstValue, (xml_text_reader *))

#ifdef __linux__
#include <dlfcn.h>
#include <pthread.h>

#define AVATAR_XML_MEMBER(result, name, arguments) result(*name) arguments;
static struct { AVATAR_XML_FUNCTIONS(AVATAR_XML_MEMBER) } xml;
#define AVATAR_XML_CALL(name) xml.name

static bool is_loaded;

static void load(void) {
    // The second name is that of 2.14 and later, which left out functions that are not used here.
    void *library = dlopen("libxml2.so.2", RTLD_LAZY | RTLD_LOCAL);
    if (!library) library = dlopen("libxml2.so.16", RTLD_LAZY | RTLD_LOCAL);
    if (!library) return;
    is_loaded = true;
#define AVATAR_XML_FIND(result, name, arguments) \
    if (!(*(void **)&xml.name = dlsym(library, #name))) is_loaded = false;
    AVATAR_XML_FUNCTIONS(AVATAR_XML_FIND)
}

bool avatar_xml_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded;
}
#else
#define AVATAR_XML_DECLARE(result, name, arguments) extern result name arguments;
AVATAR_XML_FUNCTIONS(AVATAR_XML_DECLARE)
#define AVATAR_XML_CALL(name) name
bool avatar_xml_load(void) { return true; }
#endif

// The values of xmlReaderTypes and xmlParserOption.
enum { ELEMENT = 1, TEXT = 3, CDATA = 4, ENTITY_REFERENCE = 5, DOCUMENT_TYPE = 10, WHITESPACE = 14, END_ELEMENT = 15 };
enum { NO_ERRORS = 1 << 5, NO_WARNINGS = 1 << 6, NO_NETWORK = 1 << 11 };

struct avatar_xml {
    xml_text_reader *reader;
    // The element at hand is empty, and its end has not been told.
    bool owes_end;
};

avatar_xml *avatar_xml_new(avatar_xml_read read, void *context) {
    if (!avatar_xml_load()) return NULL;
    avatar_xml *reader = calloc(1, sizeof *reader);
    if (!reader) return NULL;
    int options = NO_ERRORS | NO_WARNINGS | NO_NETWORK;
    reader->reader = AVATAR_XML_CALL(xmlReaderForIO)(read, NULL, context, NULL, NULL, options);
    if (reader->reader) return reader;
    free(reader);
    return NULL;
}

void avatar_xml_free(avatar_xml *reader) {
    AVATAR_XML_CALL(xmlFreeTextReader)(reader->reader);
    free(reader);
}

int avatar_xml_next(avatar_xml *reader) {
    if (reader->owes_end) {
        reader->owes_end = false;
        return AVATAR_XML_CLOSE;
    }
    for (;;) {
        int result = AVATAR_XML_CALL(xmlTextReaderRead)(reader->reader);
        if (result != 1) return result == 0 ? AVATAR_XML_END : AVATAR_XML_MALFORMED;
        switch (AVATAR_XML_CALL(xmlTextReaderNodeType)(reader->reader)) {
        case ELEMENT:
            reader->owes_end = AVATAR_XML_CALL(xmlTextReaderIsEmptyElement)(reader->reader) == 1;
            return AVATAR_XML_START;
        case TEXT:
        case CDATA:
        case WHITESPACE: return AVATAR_XML_TEXT;
        case END_ELEMENT: return AVATAR_XML_CLOSE;
        // Entities could be files of this machine, or a billion times as long as they look.
        case ENTITY_REFERENCE:
        case DOCUMENT_TYPE: return AVATAR_XML_MALFORMED;
        default: break;
        }
    }
}

const char *avatar_xml_name(avatar_xml *reader) {
    return (const char *)AVATAR_XML_CALL(xmlTextReaderConstLocalName)(reader->reader);
}

const char *avatar_xml_namespace(avatar_xml *reader) {
    return (const char *)AVATAR_XML_CALL(xmlTextReaderConstNamespaceUri)(reader->reader);
}

const char *avatar_xml_text(avatar_xml *reader) {
    return (const char *)AVATAR_XML_CALL(xmlTextReaderConstValue)(reader->reader);
}
