/** Fields of several kinds of records. */
import * as z from 'zod'
import { Ulid } from '../../contracts/ids.ts'

export const Title = z.string().min(1).max(200)
/** About one page. Longer text belongs in a file of the project. */
export const Text = z.string().min(1).max(8_000)
export const Tags = z.array(z.string().min(1).max(64)).max(32).default([])
/** The id of another record. In a field `<kind>_id` it must be one of that kind, if turnbell knows the kind. */
export const Reference = Ulid
/** URLs, paths or commits. */
export const Links = z.array(z.string().min(1).max(1_024)).max(100).default([])

/** Errors of every action that reads the memory of a project. */
export const MEMORY_READ_ERRORS = ['project_unknown', 'store_unavailable'] as const
