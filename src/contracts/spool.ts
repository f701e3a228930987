/**
 * What is left for a hub that is away: a line each in the spool of its home.
 *
 * Every line has an id of its own, by which a hub that dies while it takes them in does nothing twice: what it makes
 * of a line can be found by that id.
 */
import * as z from 'zod'
import { PostInput } from './blackboard.ts'
import { CLIENT_FORM } from './hook.ts'
import { Identity, Json, Timestamp, Ulid } from './ids.ts'

const LEFT = { id: Ulid, at: Timestamp }
/** Where the project is, as an absolute path. */
const Root = z
  .string()
  .startsWith('/')
  .or(z.string().regex(/^[A-Za-z]:[\\/]/))
  .refine((root) => !root.includes('\0'), 'must be a path, and no path has a NUL in it')

export const SpooledPost = z.object({
  ...LEFT,
  type: z.literal('post'),
  root: Root,
  /** In whose name, where it is a persona's. */
  identity: Identity.optional(),
  entry: PostInput,
})
export type SpooledPost = z.infer<typeof SpooledPost>

export const ArchiveTrigger = z.enum(['commit', 'context_switch'])
export type ArchiveTrigger = z.infer<typeof ArchiveTrigger>

export const SpooledArchive = z.object({
  ...LEFT,
  type: z.literal('archive'),
  root: Root,
  /** What made it time for that. */
  trigger: ArchiveTrigger,
  /** What is older goes. */
  before: Timestamp,
})
export type SpooledArchive = z.infer<typeof SpooledArchive>

/** What a client's hook said. */
export const SpooledHook = z.object({
  ...LEFT,
  type: z.literal('hook'),
  client: z.string().regex(CLIENT_FORM),
  identity: Identity,
  body: z.record(z.string(), Json),
})
export type SpooledHook = z.infer<typeof SpooledHook>

export const Spooled = z.discriminatedUnion('type', [SpooledPost, SpooledArchive, SpooledHook])
export type Spooled = z.infer<typeof Spooled>
