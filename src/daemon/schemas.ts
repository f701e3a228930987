/**
 * zod would write a program for each schema of an object and have it compiled when it is first used. That pays where
 * thousands of frames are read; a daemon reads a few a minute, and starts and idles with less without.
 */
import * as z from 'zod'

z.config({ jitless: true })
