/**
 * Writes everything derived from the declarations: the published JSON Schemas, the OpenAPI and AsyncAPI documents, the
 * reference and the skill for agents. `--check` compares instead of writing, and fails on a difference.
 */
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { Config } from '../src/contracts/config.ts'
import {
  DaemonStatus,
  NotifyResult,
  ReportAnswer,
  ResumeResult,
  RingResult,
  ShutdownResult,
  SurfaceReport,
} from '../src/contracts/control.ts'
import { Decision } from '../src/contracts/memory/decision.ts'
import { Entry } from '../src/contracts/memory/entry.ts'
import { Entity, Relation } from '../src/contracts/memory/graph.ts'
import { ProjectConfig } from '../src/contracts/memory/project-config.ts'
import { Doorbell } from '../src/contracts/doorbell.ts'
import { Problem } from '../src/contracts/errors/errors.ts'
import { PersonaStatusList } from '../src/contracts/persona-status.ts'
import { ClientFrame, HubFrame } from '../src/contracts/frames.ts'
import { DrainResult, Receipt, SendInput, SignalView } from '../src/contracts/signal.ts'
import { FACADES } from '../src/facades/all.ts'
import { projectDocs, projectErrors } from '../src/kernel/projections/project-docs.ts'
import { projectOpenApi } from '../src/kernel/projections/project-http.ts'
import { projectSkill } from '../src/kernel/projections/project-skill.ts'
import { createRegistry } from '../src/kernel/registry.ts'
import { FIXED_ROUTES } from '../src/transports/http/routes.ts'
import { describeWebSocket } from '../src/transports/ws/asyncapi.ts'

const SCHEMAS: Record<string, { schema: z.ZodType; io: 'input' | 'output' }> = {
  config: { schema: Config, io: 'input' },
  'persona-status-list': { schema: PersonaStatusList, io: 'output' },
  'daemon-status': { schema: DaemonStatus, io: 'output' },
  'notify-result': { schema: NotifyResult, io: 'output' },
  'resume-result': { schema: ResumeResult, io: 'output' },
  'shutdown-result': { schema: ShutdownResult, io: 'output' },
  doorbell: { schema: Doorbell, io: 'output' },
  'ring-result': { schema: RingResult, io: 'output' },
  'surface-report': { schema: SurfaceReport, io: 'input' },
  'report-answer': { schema: ReportAnswer, io: 'output' },
  problem: { schema: Problem, io: 'output' },
  'client-frame': { schema: ClientFrame, io: 'input' },
  'hub-frame': { schema: HubFrame, io: 'output' },
  'send-input': { schema: SendInput, io: 'input' },
  receipt: { schema: Receipt, io: 'output' },
  'drain-result': { schema: DrainResult, io: 'output' },
  'signal-view': { schema: SignalView, io: 'output' },
  // Files in a project's `.turnbell` that may be edited by hand.
  entry: { schema: Entry, io: 'input' },
  decision: { schema: Decision, io: 'input' },
  entity: { schema: Entity, io: 'input' },
  relation: { schema: Relation, io: 'input' },
  'project-config': { schema: ProjectConfig, io: 'input' },
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`
const registry = createRegistry(FACADES)
const { version } = JSON.parse(fs.readFileSync('package.json', 'utf8')) as { version: string }

const files = new Map<string, string>([
  ['docs/reference/actions.md', projectDocs(registry)],
  ['docs/reference/errors.md', projectErrors()],
  ['docs/skill/SKILL.md', projectSkill(registry)],
  ['docs/reference/openapi.json', json(projectOpenApi(registry, version, Object.values(FIXED_ROUTES)))],
  ['docs/reference/asyncapi.json', json(describeWebSocket(version))],
])
for (const [name, { schema, io }] of Object.entries(SCHEMAS)) {
  files.set(
    `docs/reference/schemas/${name}.schema.json`,
    json(z.toJSONSchema(schema, { io, unrepresentable: 'any' })),
  )
}

const check = process.argv.includes('--check')
const stale: string[] = []

for (const [file, text] of files) {
  const current = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
  if (current === text) continue
  if (check) stale.push(file)
  else {
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, text)
  }
}
if (stale.length > 0) {
  process.stderr.write(`out of date, run \`npm run generate\`: ${stale.join(', ')}\n`)
  process.exitCode = 1
}
