import { expect, test } from 'vitest'
import type { Spool } from '../../../src/ports/spool.ts'
import { liveHub } from '../../support/worlds/live-hub.ts'

test('a closing hub waits for the spool consumer, whose stores are still open', async () => {
  const said: string[] = []
  let goOn = () => {}
  const held = new Promise<void>((resolve) => (goOn = resolve))
  let taking: Promise<unknown> = Promise.resolve()
  const spool: Spool = {
    consume(take) {
      const line = { id: '01KJMHHR00AAAAAAAAAAAAAAAA', at: '2026-03-01T11:00:00.000Z', type: 'hook' }
      const whole = JSON.stringify({ ...line, client: 'codex', identity: 'ada', body: {} })
      const all = held.then(() => take([whole])).then(([outcome]) => said.push(JSON.stringify(outcome)))
      taking = all
      return all.then(() => ({ taken: 1, refused: 0 }))
    },
    async close() {
      said.push('closing')
      await taking
    },
  }
  const world = await liveHub({ spool })
  const closing = world.close().then(() => said.push('closed'))
  setImmediate(goOn)
  await closing
  expect(said).toEqual(['closing', '"taken"', 'closed'])
})
