/** Tests the notice about tools that a client cannot list. */
import { expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { createToolList } from '../../../src/bridge/tool-list.ts'
import type { Result } from '../../../src/bridge/hub/answers.ts'
import { atRest } from '../../support/fakes/fake-clock.ts'

test('a client whose three listings failed is notified once when there are tools', async () => {
  const waiting: ((result: Result) => void)[] = []
  let told = 0
  const request = (_: string, __: unknown, { wait_ms }: { wait_ms?: number }): Promise<Result> =>
    wait_ms === LIMITS.bridge_confirm_wait_ms
      ? new Promise((resolve) => waiting.push(resolve))
      : Promise.reject(new Error('away'))
  const tools = createToolList({ request }, silentLog, () => (told += 1))
  for (let time = 0; time < 3; time += 1) await expect(tools(undefined)).rejects.toThrow('away')
  await expect(tools({ detail: 'full' }), 'another view').rejects.toThrow('away')
  expect(waiting).toHaveLength(2)
  waiting[0]?.({ tools: [] })
  await atRest()
  expect(told).toBe(1)
})
