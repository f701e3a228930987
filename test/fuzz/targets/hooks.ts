/** Fuzzes the input of client hooks, and the part of it that is sent to the hub. */
import fs from 'node:fs'
import path from 'node:path'
import { hasBackgroundTasks, RegistryRecord, TurnEvent } from '../../../adapters/claude-code/turn-events.ts'
import {
  hookFired,
  registryRead,
  settleDeadline,
  startTracking,
} from '../../../adapters/claude-code/turn-tracker.ts'
import { hookPayload } from '../../../src/cli/hooks/hook-call.ts'
import { spoolSubagentStatus } from '../../../src/cli/hooks/subagent.ts'
import { appendToSpool } from '../../../src/cli/hooks/spool.ts'
import { ThreadNews } from '../../../src/contracts/clients/codex.ts'
import { hookFacts } from '../../../src/contracts/spool/hook.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import { parseJsonOrNull } from '../../../src/contracts/validation/json.ts'
import { Spooled } from '../../../src/contracts/spool/spool.ts'
import { hookReport } from '../../../src/system/clients/codex-run-files.ts'
import { resolveHome } from '../../../src/system/config/home.ts'
import { testCli } from '../../support/processes/test-cli.ts'
import { fixtures } from '../seeds.ts'
import { insist, type Target } from '../target.ts'

const AT = '2026-03-01T12:00:00.000Z'
const STATES = ['idle', 'busy', 'unknown']

export const hooks: Target = {
  name: 'hooks',
  promise:
    'whatever a hook says moves a turn to a known state, and what is left of it in the spool is understood there',
  share: 5,
  words: [
    'hook_event_name',
    'cwd',
    'agent_type',
    'last_assistant_message',
    '(bell 01ARZ3NDEKTSV4RRFFQ69G5FAV)',
    'Stop',
    'SubagentStop',
  ],

  open({ directory }) {
    const home = resolveHome({ TURNBELL_HOME: path.join(directory, 'home') })
    const project = path.join(directory, 'project')
    fs.mkdirSync(path.join(project, '.turnbell'), { recursive: true })
    fs.writeFileSync(path.join(project, '.turnbell', 'blackboard.jsonl'), '')
    const spool = path.join(home.spool, 'hooks.jsonl')
    const { cli } = testCli({ home: home.root })
    const invocation = { cli, home }
    return {
      seeds: [
        ...fixtures('claude-code', '.json'),
        `{"hook_event_name":"SubagentStop","cwd":"/","agent_type":"x","agent_id":"y","last_assistant_message":"done\\nmore"}`,
        '{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"turnbell: (bell 01ARZ3NDEKTSV4RRFFQ69G5FAV)"}',
        '{"event":"Stop","session_id":"s","background_tasks":"[1]"}',
        '{"sessionId":"s","status":"busy"}',
      ],
      attempt(input) {
        const said = parseJsonOrNull(input.toString())
        const news = hookReport(said, AT)
        insist(news === null || ThreadNews.safeParse(news).success, () => `no news: ${JSON.stringify(news)}`)
        if (typeof said !== 'object' || said === null || Array.isArray(said)) return 'none'
        const payload = hookPayload(input.toString().replace(/^\uFEFF/, ''))
        hookFacts('claude-code', payload)
        const turn = turned(payload)
        fs.rmSync(spool, { force: true })
        spoolSubagentStatus(invocation, 'ada', { ...payload, cwd: project })
        appendToSpool(invocation, { type: 'hook', client: 'claude-code', identity: 'ada', body: payload })
        const lines = fs.readFileSync(spool, 'utf8').trimEnd().split('\n')
        for (const line of lines) {
          const read = Spooled.safeParse(parseJsonOrNull(line))
          insist(read.success, () => `the hub would refuse: ${line.slice(0, 300)} ${String(read.error)}`)
        }
        return `${turn} ${lines.length} ${news?.event}`
      },
    }
  },
}

function turned(payload: Record<string, Json>): string {
  const event = TurnEvent.safeParse(payload)
  const record = RegistryRecord.safeParse(payload)
  const began = startTracking('s', 0)
  const fired = event.success ? hookFired(began, event.data, 5) : began
  const read = registryRead(fired, record.success ? record.data : null, 9)
  insist(STATES.includes(read.turn), () => `the turn is ${String(read.turn)}`)
  const at = settleDeadline(read)
  insist(at === null || Number.isFinite(at), () => `it settles at ${at}`)
  return `${read.turn} ${event.success && hasBackgroundTasks(event.data)}`
}
