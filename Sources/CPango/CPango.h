// Pango lays out text of any script with the fonts that are installed, and Cairo draws it.
#include <pango/pangocairo.h>
