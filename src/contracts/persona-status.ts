/** What `turnbell status --json` prints without a name: the hub, and one entry for every persona of the home. */
import * as z from 'zod'
import { DaemonStatus } from './control.ts'
import { Problem } from './errors.ts'
import { Identity } from './ids.ts'

/** Where its agent works, by the configuration. */
const project = z.string().nullable()
/** Signals to it that expired and are still kept; null where no hub has said it. */
const expired_count = z.number().int().nullable()

export const PersonaStatus = z.discriminatedUnion('running', [
  z.object({ identity: Identity, running: z.literal(true), project, expired_count, status: DaemonStatus }),
  z.object({ identity: Identity, running: z.literal(false), project, expired_count, problem: Problem }),
])
export type PersonaStatus = z.infer<typeof PersonaStatus>

/** The hub that commands of the home call. `pid` and `started_at` are null for one that is not of this home. */
export const HubInUse = z.object({
  url: z.string(),
  pid: z.number().int().nullable(),
  started_at: z.iso.datetime().nullable(),
})
export type HubInUse = z.infer<typeof HubInUse>

/** `hub` is null where none runs. */
export const HomeStatus = z.object({ hub: HubInUse.nullable(), personas: z.array(PersonaStatus) })
export type HomeStatus = z.infer<typeof HomeStatus>
