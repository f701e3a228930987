import { expect, test } from 'vitest'
import { createRestoreCheck, hasPrimer } from '../../../../../adapters/claude-code/mod/restore-check.ts'
import type { ModEvent } from '../../../../../adapters/claude-code/mod/messages.ts'
import { renderPrimer, type PrimerFacts } from '../../../../../src/modules/context/primer.ts'
import { atRest } from '../../../../support/fakes/fake-clock.ts'

const FACTS: PrimerFacts = {
  identity: 'ada',
  project: 'shop',
  teammates: [{ identity: 'bob', surface: 'codex' }],
  waiting: { count: 2, from: ['bob'] },
  in_progress: { count: 1, from: ['bob'] },
  memory: [{ label: 'warning', text: 'Do not touch the cache' }],
}
const { text: PRIMER, who: WHO } = renderPrimer(FACTS)

/** As the client sends a hook's context to the model. */
const reminder = (text: string) => ({
  role: 'user',
  content: [
    {
      type: 'text',
      text: `<system-reminder>\nSessionStart hook additional context: ${text}\n</system-reminder>`,
    },
  ],
})
const inResult = (text: string) => ({
  role: 'user',
  content: [{ type: 'tool_result', content: `done\n\n<system-reminder>\n${text}\n</system-reminder>` }],
})

test.each<[string, boolean, object[]]>([
  ['the primer in a reminder', true, [reminder(PRIMER)]],
  ['the primer behind the result of a tool', true, [inResult(PRIMER)]],
  ['a primer for a long name', true, [reminder(renderPrimer({ ...FACTS, identity: 'a'.repeat(63) }).text)]],
  [
    'the primer of an agent that is alone',
    true,
    [reminder(renderPrimer({ ...FACTS, teammates: [], memory: [] }).text)],
  ],
  ['no primer', false, [reminder('something else')]],
  ['nothing', false, []],
  ['the instructions of the MCP server', false, [reminder(WHO)]],
])('a conversation with %s: %j', (_, found, messages) => {
  expect(hasPrimer(JSON.stringify(messages))).toBe(found)
})

function checks() {
  const reports: ModEvent[] = []
  const reads: { resolve: (messages: object[]) => void; reject: (error: Error) => void }[] = []
  const check = createRestoreCheck({
    conversation: () => new Promise((resolve, reject) => reads.push({ resolve, reject })),
    report: (event) => void reports.push(event),
  })
  return { check, reports, reads }
}

test('the first answer after a compaction is checked, and no other', async () => {
  const { check, reports, reads } = checks()
  check.answered()
  expect(reads).toHaveLength(0)
  check.compacted()
  check.answered()
  reads[0]?.resolve([reminder(PRIMER)])
  await atRest()
  check.answered()
  expect([reports, reads.length]).toEqual([[{ kind: 'restored', found: true }], 1])
})

test('a missing primer is reported', async () => {
  const { check, reports, reads } = checks()
  check.compacted()
  check.answered()
  reads[0]?.resolve([])
  await atRest()
  expect(reports).toEqual([{ kind: 'restored', found: false }])
})

test('a conversation that cannot be read is checked at the next answer', async () => {
  const { check, reports, reads } = checks()
  check.compacted()
  check.answered()
  reads[0]?.reject(new Error('not attached'))
  await atRest()
  expect(reports).toEqual([])
  check.answered()
  reads[1]?.resolve([reminder(PRIMER)])
  await atRest()
  expect(reports).toEqual([{ kind: 'restored', found: true }])
})

test.each([
  ['another compaction', (check: ReturnType<typeof createRestoreCheck>) => check.compacted()],
  ['another session', (check: ReturnType<typeof createRestoreCheck>) => check.forget()],
])('nothing is reported about a conversation that was read before %s', async (_, happens) => {
  const { check, reports, reads } = checks()
  check.compacted()
  check.answered()
  happens(check)
  reads[0]?.resolve([])
  await atRest()
  expect(reports).toEqual([])
})
