/**
 * Lines in the spool of a home, written while the hub is away.
 *
 * Every line has an id that its results carry, so that a hub that crashes during consumption does not create them
 * twice.
 */
import * as z from 'zod'
import { ActivityReport } from '../activity/event.ts'
import { PostInput } from '../memory/blackboard.ts'
import { CLIENT_FORM } from './hook.ts'
import { Identity, Json, Timestamp, Ulid } from '../ids.ts'

/** File of the spool that new lines are appended to. */
export const SPOOL_FILE = 'hooks.jsonl'
/** Quarantined lines with their reasons, kept for a person. */
export const SPOOL_REJECTED_FILE = 'rejected.jsonl'
/** The rotated quarantine file. */
export const SPOOL_REJECTED_OLDER_FILE = 'rejected.1.jsonl'
/** Suffix for an entry that is renamed because it is not a regular file. */
export const SPOOL_MOVED_SUFFIX = '.not-plain'

/** Whether the hub reads or writes this file. */
export function isSpoolFile(name: string): boolean {
  return /^[a-z.1]+\.jsonl(\.new)?$|\.(taken|done)$/.test(name)
}

const LEFT = { id: Ulid, at: Timestamp }
/** Absolute path of the project. */
const Root = z
  .string()
  .startsWith('/')
  .or(z.string().regex(/^[A-Za-z]:[\\/]/))
  .refine((root) => !root.includes('\0'), 'must be a path, and no path has a NUL in it')

export const SpooledPost = z.object({
  ...LEFT,
  type: z.literal('post'),
  root: Root,
  /** Persona that the line belongs to, if any. */
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
  /** Event that triggered the archiving. */
  trigger: ArchiveTrigger,
  /** Older entries are archived. */
  before: Timestamp,
})
export type SpooledArchive = z.infer<typeof SpooledArchive>

/** A hook of a client. */
export const SpooledHook = z.object({
  ...LEFT,
  type: z.literal('hook'),
  client: z.string().regex(CLIENT_FORM),
  identity: Identity,
  body: z.record(z.string(), Json),
})
export type SpooledHook = z.infer<typeof SpooledHook>

/** A report of an agent's activity that its shim could not send. The hub stores each number of a session once. */
export const SpooledActivity = z.object({
  ...LEFT,
  type: z.literal('activity'),
  identity: Identity,
  report: ActivityReport,
})
export type SpooledActivity = z.infer<typeof SpooledActivity>

export const Spooled = z.discriminatedUnion('type', [
  SpooledPost,
  SpooledArchive,
  SpooledHook,
  SpooledActivity,
])
export type Spooled = z.infer<typeof Spooled>
