/**
 * A client that stands still for 30 s after a doorbell was handed to it, and a model that answers 30 s late: no time makes
 * a doorbell lost, so the model is shown one in the turn.
 */
import { setTimeout } from 'node:timers/promises'
import { expectOneBellPerTurn } from '../support/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { BELL, type Scene } from '../support/scene.ts'

const SLOW_MS = 30_000

/** `pid` is the process that takes the doorbell; it stands at its prompt. */
export async function isRungOnceWhileSlow(scene: Scene, pid: number): Promise<void> {
  const { doorbells_rung: before } = await scene.status()
  scene.model.always(BELL, () => ({ ...scene.drain, after: setTimeout(SLOW_MS) }))
  const first = await scene.send('one')
  await eventually('the doorbell has left', async () => (await scene.status()).doorbells_rung > before)
  process.kill(pid, 'SIGSTOP')
  try {
    await setTimeout(SLOW_MS)
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  const second = await scene.send('two')
  await scene.settled([first, second])
  expectOneBellPerTurn(scene.model, ['one', 'two'])
}
