/**
 * Disables zod's code generation. zod would generate and compile a validator for each object schema at its
 * first use. A daemon parses only a few frames a minute, so it starts faster and uses less memory without.
 */
import * as z from 'zod'

z.config({ jitless: true })
