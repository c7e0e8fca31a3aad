/* banned.h - force-included: calling these is a compile error, whatever the include order. */
#pragma once
#include <stddef.h>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
#define BANNED(why) __attribute__((deprecated("banned: " why)))
char *strcpy(char *, const char *) BANNED("use buf_put() or snprintf()");
char *strcat(char *, const char *) BANNED("use buf_put()");
char *strncpy(char *, const char *, size_t) BANNED("use snprintf()");
int sprintf(char *, const char *, ...) BANNED("use snprintf() or buf_printf()");
int atoi(const char *) BANNED("use num_parse_u64()");
long atol(const char *) BANNED("use num_parse_u64()");
char *strtok(char *, const char *) BANNED("use strchr()");
int system(const char *) BANNED("use proc_spawn()");
#pragma GCC diagnostic pop
