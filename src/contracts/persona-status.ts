/** Output of `turnbell status --json` without a name: one entry for each persona of the home. */
import * as z from 'zod'
import { DaemonStatus } from './control.ts'
import { Problem } from './errors/errors.ts'
import { Identity } from './ids.ts'

/** Working directory of the agent, from the configuration. */
const project = z.string().nullable()
/** Number of pending signals at the hub, whether the daemon runs or not; null if the hub did not respond. */
const pending_count = z.number().int().nullable()
/** Number of stored expired signals; null if no hub has reported it. */
const expired_count = z.number().int().nullable()

const common = { identity: Identity, project, pending_count, expired_count }

export const PersonaStatus = z.discriminatedUnion('running', [
  z.object({ ...common, running: z.literal(true), status: DaemonStatus }),
  z.object({ ...common, running: z.literal(false), problem: Problem }),
])
export type PersonaStatus = z.infer<typeof PersonaStatus>
export const PersonaStatusList = z.array(PersonaStatus)
