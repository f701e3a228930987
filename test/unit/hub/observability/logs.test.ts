/** Tests the hub's logs on an unwritable disk. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test, vi } from 'vitest'
import { openHubLogs } from '../../../../src/hub/observability/logs.ts'
import type { DispatchLine } from '../../../../src/kernel/dispatch.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const LINE = { facade: 'signals', action: 'send' } as DispatchLine

test.skipIf(!fs.existsSync('/dev/full'))(
  'a full disk does not prevent a hub from stopping, and is logged once',
  async () => {
    const directory = temporaryDirectory()
    const [hub_log, dispatch_log] = [path.join(directory, 'hub.log'), path.join(directory, 'dispatch.jsonl')]
    for (const file of [hub_log, dispatch_log]) fs.symlinkSync('/dev/full', file)
    const said: string[] = []
    const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0)
    try {
      const clock = fakeClock()
      const logs = openHubLogs({ hub_log, dispatch_log }, 'info', clock)
      for (let round = 0; round < 3; round += 1) {
        logs.log.info({}, 'stopping')
        logs.dispatch(LINE)
        logs.flush()
      }
      logs.dispatch(LINE)
      await clock.advance(10_000)
      logs.close()
      logs.log.info({}, 'a late word')
    } finally {
      stderr.mockRestore()
    }
    expect(said).toEqual([
      expect.stringMatching(/^warn: hub.log cannot be written \(ENOSPC/),
      expect.stringMatching(/^warn: the dispatch log cannot be written \(ENOSPC/),
    ])
  },
)

test('dispatched calls are in their file once the logs are closed', () => {
  const directory = temporaryDirectory()
  const [hub_log, dispatch_log] = [path.join(directory, 'hub.log'), path.join(directory, 'dispatch.jsonl')]
  const logs = openHubLogs({ hub_log, dispatch_log }, 'info', fakeClock())
  logs.log.info({}, 'ready')
  logs.dispatch(LINE)
  expect(fs.readFileSync(hub_log, 'utf8')).toContain('"ready"')
  expect(fs.readFileSync(dispatch_log, 'utf8'), 'gathered').toBe('')
  logs.flush()
  logs.dispatch(LINE)
  logs.close()
  expect(fs.readFileSync(dispatch_log, 'utf8')).toBe(`${JSON.stringify(LINE)}\n`.repeat(2))
})
