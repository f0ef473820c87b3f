/* What the stand-ins for vendors' libraries share. A device is a file: lines "key number" say how the device behaves,
 * and FILE.log gets a line for each call, and a line that begins with FAULT for each call that breaks the contract. */

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The content of memory after it was returned. */
#define POISON 0xEE
#define KEYS 32

static char log_path[1024];
static struct { char name[32]; long value; } keys[KEYS];
static int known;

static void note(const char *format, ...)
{
	FILE *log = log_path[0] ? fopen(log_path, "a") : NULL;
	va_list arguments;
	if (log == NULL)
		return;
	va_start(arguments, format);
	vfprintf(log, format, arguments);
	va_end(arguments);
	fputc('\n', log);
	fclose(log);
}

/* Reads the device's behaviour; 0 when there is no such device. */
static int attach(const char *device)
{
	FILE *file = fopen(device, "r");
	if (file == NULL)
		return 0;
	snprintf(log_path, sizeof(log_path), "%s.log", device);
	for (known = 0; known < KEYS; known++)
		if (fscanf(file, "%31s %ld", keys[known].name, &keys[known].value) != 2)
			break;
	fclose(file);
	return 1;
}

static long key(const char *name, long otherwise)
{
	for (int i = 0; i < known; i++)
		if (strcmp(keys[i].name, name) == 0)
			return keys[i].value;
	return otherwise;
}

/* Frame `number` has 60 + number octets, all different. */
static unsigned frame_length(unsigned number)
{
	return 60 + number;
}

static void fill_frame(unsigned char *place, unsigned number)
{
	for (unsigned i = 0; i < frame_length(number); i++)
		place[i] = (unsigned char)(number * 7 + i);
}

__attribute__((destructor)) static void unloaded(void)
{
	note("unloaded");
}
