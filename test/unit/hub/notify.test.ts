import { expect, test } from 'vitest'
import { createNotifier } from '../../../src/hub/notify.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { ProgramResult, ProgramRun } from '../../../src/ports/step-runner.ts'
import { atRest } from '../../support/fakes/fake-clock.ts'

const DONE: ProgramResult = { exit_code: 0, timed_out: false, stdout: '', stderr: '', truncated: false }
const notice = (at: number) => ({
  ...{ signal_id: `s${at}`, from: 'ada', intent: 'reply', priority: 3, pending_count: 1 },
})

function notifying(command: string[] | undefined) {
  const runs: { program: ProgramRun; end: (how: ProgramResult | Error) => void }[] = []
  const warnings: object[] = []
  const notifier = createNotifier({
    settings: command === undefined ? {} : { command },
    root: '/home/ada/.turnbell',
    log: { debug() {}, info() {}, error() {}, warn: (fields: object) => void warnings.push(fields) },
    programs: {
      run: (program) =>
        new Promise((resolve, reject) => {
          runs.push({ program, end: (how) => (how instanceof Error ? reject(how) : resolve(how)) })
        }),
    },
  })
  return { notifier, runs, warnings }
}

test('the notification command runs once for each notice, one at a time, with the notice on stdin', async () => {
  const { notifier, runs } = notifying(['notify-me', '--now'])
  notifier.notice(notice(1))
  notifier.notice(notice(2))
  expect(runs).toHaveLength(1)
  expect(runs[0]?.program).toMatchObject({
    argv: ['notify-me', '--now'],
    timeout_ms: LIMITS.notify_timeout_ms,
  })
  expect(JSON.parse(runs[0]?.program.input ?? '')).toEqual(notice(1))
  runs[0]?.end(DONE)
  await atRest()
  expect(runs).toHaveLength(2)
})

test('a notification command that fails or cannot start is logged, and the next notice runs it again', async () => {
  const { notifier, runs, warnings } = notifying(['notify-me'])
  for (const at of [1, 2, 3]) notifier.notice(notice(at))
  runs[0]?.end({ ...DONE, exit_code: 3 })
  await atRest()
  runs[1]?.end(new Error('no such program'))
  await atRest()
  expect(runs).toHaveLength(3)
  expect(warnings).toMatchObject([{ signal_id: 's1', exit_code: 3 }, { signal_id: 's2' }])
})

test('notices beyond the limit are dropped and counted, and without a command nothing runs', async () => {
  const { notifier, runs, warnings } = notifying(['notify-me'])
  for (let at = 0; at <= LIMITS.notices_waiting_max + 2; at += 1) notifier.notice(notice(at))
  for (let at = 0; at <= LIMITS.notices_waiting_max; at += 1) {
    runs[at]?.end(DONE)
    await atRest()
  }
  expect(runs).toHaveLength(LIMITS.notices_waiting_max + 1)
  expect(warnings).toEqual([{ dropped: 2 }])
  const silent = notifying(undefined)
  silent.notifier.notice(notice(1))
  expect(silent.runs).toEqual([])
})
