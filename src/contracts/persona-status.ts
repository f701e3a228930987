/** What `turnbell status --json` prints without a name: one entry for every persona of the home. */
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
export const PersonaStatusList = z.array(PersonaStatus)
