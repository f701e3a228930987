/** Everything that doctor looks at. Causes come before their effects: the hub before its daemons. */
import { TurnbellError } from '../../contracts/errors.ts'
import type { PersonaStatus } from '../../contracts/persona-status.ts'
import type { Invocation } from '../cli.ts'
import { statusOfAll } from '../commands/status.ts'
import { checkClients } from './clients.ts'
import { checkConnections } from './connections.ts'
import { checkDaemons } from './daemons.ts'
import { broken, refusedBy, warning, type Finding } from './finding.ts'
import { checkConfig, checkHome, checkSecrets, checkSpace } from './home.ts'
import { checkHub } from './hub.ts'
import { checkMachine } from './machine.ts'
import { checkModel } from './model.ts'
import { checkPort } from './port.ts'
import { checkServices } from './services.ts'
import { checkSpool } from './spool.ts'

export interface Check {
  /** Of the finding that stands for it where it cannot be made. */
  id: string
  check: () => Finding | Finding[] | Promise<Finding | Finding[]>
}

export function checksOf(invocation: Invocation): Check[] {
  let asked: Promise<PersonaStatus[]> | null = null
  const statuses = () => (asked ??= statusOfAll(invocation))
  return [
    { id: 'node', check: () => checkMachine(invocation) },
    { id: 'home', check: () => checkHome(invocation) },
    { id: 'secrets', check: () => checkSecrets(invocation) },
    { id: 'disk', check: () => checkSpace(invocation) },
    { id: 'config', check: () => checkConfig(invocation) },
    { id: 'spool', check: () => checkSpool(invocation) },
    { id: 'hub', check: async () => checkHub(invocation, await statuses().catch(() => [])) },
    { id: 'port', check: () => checkPort(invocation) },
    { id: 'personas', check: async () => checkDaemons(invocation, await statuses()) },
    { id: 'services', check: () => checkServices(invocation) },
    { id: 'clients', check: () => checkClients(invocation) },
    { id: 'connections', check: () => checkConnections(invocation) },
    { id: 'model', check: () => checkModel(invocation) },
  ]
}

/** Makes every check: one that fails is a finding of its own and keeps none of the others from being made. */
export async function runChecks(invocation: Invocation): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { id, check } of checksOf(invocation)) {
    try {
      findings.push(...[await check()].flat())
    } catch (error) {
      findings.push(notMade(invocation, id, error))
    }
  }
  return findings
}

function notMade({ cli }: Invocation, id: string, error: unknown): Finding {
  if (!(error instanceof TurnbellError))
    return broken(id, `could not be looked at: ${String(error)}`, 'Report it: this is a bug of turnbell.')
  if (error.code !== 'config_invalid' || id === 'config') return refusedBy(id, error, cli.ids)
  return warning(id, 'not looked at: the configuration cannot be read', 'First fix what `config` names.')
}
