/** Fields that many kinds of records have. */
import * as z from 'zod'
import { Ulid } from '../contracts/ids.ts'

export const Title = z.string().min(1).max(200)
/** As long as a page. What is longer belongs into a file of the project. */
export const Text = z.string().min(1).max(8_000)
export const Tags = z.array(z.string().min(1).max(64)).max(32).default([])
/** The id of another record. In a field `<kind>_id` it must be one of that kind, if turnbell knows the kind. */
export const Reference = Ulid
/** Addresses, paths, commits: whatever the reader can follow. */
export const Links = z.array(z.string().min(1).max(1_024)).max(100).default([])
