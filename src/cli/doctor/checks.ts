/** All checks of doctor. Causes come before their effects, such as the hub before its daemons. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { PersonaStatus } from '../../contracts/persona-status.ts'
import type { Invocation } from '../cli.ts'
import { statusOfAll } from '../commands/status.ts'
import { checkClients, clientVersions } from './clients.ts'
import { checkClaudeCodeModule } from './claude-code-module.ts'
import { checkConnections } from './connections.ts'
import { checkDaemons } from './daemons.ts'
import { broken, refusedBy, warning, type Finding } from './finding.ts'
import { checkConfig, checkHome, checkSecrets, checkSpace } from './home.ts'
import { checkFiles } from './files.ts'
import { checkHub } from './hub.ts'
import { checkMachine } from './machine.ts'
import { checkModel } from './model.ts'
import { checkPort } from './port.ts'
import { checkServices } from './services.ts'
import { checkSpool } from './spool.ts'
import { checkStore } from './store.ts'

export interface Check {
  /** Name of the finding that reports a failure of the check itself. */
  id: string
  check: () => Finding | Finding[] | Promise<Finding | Finding[]>
}

export function checksOf(invocation: Invocation): Check[] {
  let request: Promise<PersonaStatus[]> | null = null
  const versions = clientVersions(invocation)
  const statuses = () => (request ??= statusOfAll(invocation, undefined, LIMITS.doctor_answer_ms))
  return [
    { id: 'node', check: () => checkMachine(invocation) },
    { id: 'home', check: () => checkHome(invocation) },
    { id: 'secrets', check: () => checkSecrets(invocation) },
    { id: 'disk', check: () => checkSpace(invocation) },
    { id: 'config', check: () => checkConfig(invocation) },
    { id: 'spool', check: () => checkSpool(invocation) },
    { id: 'files', check: () => checkFiles(invocation) },
    { id: 'store', check: () => checkStore(invocation) },
    { id: 'hub', check: async () => checkHub(invocation, await statuses().catch(() => [])) },
    { id: 'port', check: () => checkPort(invocation) },
    { id: 'personas', check: async () => checkDaemons(invocation, await statuses()) },
    { id: 'services', check: () => checkServices(invocation) },
    { id: 'clients', check: () => checkClients(invocation, versions) },
    { id: 'module', check: async () => checkClaudeCodeModule(invocation, await statuses(), versions) },
    { id: 'connections', check: () => checkConnections(invocation) },
    { id: 'model', check: () => checkModel(invocation) },
  ]
}

/** Runs every check. A check that throws becomes a finding, and the others still run. */
export async function runChecks(invocation: Invocation): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { id, check } of checksOf(invocation)) {
    try {
      findings.push(...[await check()].flat())
    } catch (error) {
      findings.push(failedCheck(invocation, id, error))
    }
  }
  return findings
}

function failedCheck({ cli }: Invocation, id: string, error: unknown): Finding {
  if (!(error instanceof TurnbellError))
    return broken(id, `the check failed: ${String(error)}`, 'Report this bug of turnbell.')
  if (error.code !== 'config_invalid' || id === 'config') return refusedBy(id, error, cli.ids)
  return warning(id, 'not checked: the configuration is invalid', 'Fix the finding `config` first.')
}
