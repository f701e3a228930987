/** What `turnbell status --json` prints without a name: one entry for every persona of the home. */
import * as z from 'zod'
import { DaemonStatus } from './control.ts'
import { Problem } from './errors.ts'
import { Identity } from './ids.ts'

/** Where its agent works, by the configuration. */
const project = z.string().nullable()
/** Signals that wait for it at the hub, whether its daemon runs or not; null if the hub did not answer. */
const pending_count = z.number().int().nullable()
/** Signals to it that expired and are still kept; null where no hub has said it. */
const expired_count = z.number().int().nullable()

const known = { identity: Identity, project, pending_count, expired_count }

export const PersonaStatus = z.discriminatedUnion('running', [
  z.object({ ...known, running: z.literal(true), status: DaemonStatus }),
  z.object({ ...known, running: z.literal(false), problem: Problem }),
])
export type PersonaStatus = z.infer<typeof PersonaStatus>
export const PersonaStatusList = z.array(PersonaStatus)
