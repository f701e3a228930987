/**
 * Scenes in which an open window of a real client survives every clean stop of turnbell. There are three mechanisms:
 * the control socket (`shutdown`, Ctrl-C in `up`, a changed configuration, an upgrade), SIGTERM (a service manager),
 * and `down`, which also stops the hub.
 */
import { once } from 'node:events'
import { expect } from 'vitest'
import { notedPid, PERSONA } from '../support/clients/client-world.ts'
import { expectOneBellPerTurn } from '../support/clients/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { BIN } from '../support/processes/processes.ts'
import type { Scene } from '../support/clients/scene.ts'
import { processAlive } from '../../src/system/process/process-info.ts'

/** Maximum time after the next start until the window receives a doorbell again. */
const RUNG_AGAIN_WITHIN_MS = 15_000

export interface WindowUnderTest {
  /** Types the text into the window and resolves when the model's answer is shown. */
  works: (text: string) => Promise<unknown>
  /** The client's server that the shim runs; absent for a client without one. */
  server?: 'codex' | 'opencode'
  /** Closes the window. */
  leave: () => Promise<unknown> | void
}

/** The window has already received a doorbell for the signal `before`. */
export async function endures(scene: Scene, { works, server, leave }: WindowUnderTest): Promise<void> {
  const answerTo = (text: string) => scene.model.next(new RegExp(text), { text: `answer to ${text}` })
  const turnbell = async (...args: string[]) => {
    const child = scene.spawn([process.execPath, BIN, ...args], { stdio: 'ignore' })
    const [code] = (await once(child, 'exit')) as [number]
    expect([args.join(' '), code]).toEqual([args.join(' '), 0])
  }
  const { session_id } = (await scene.status()).surface
  const pid = server === undefined ? null : notedPid(scene, server)
  const payloads = ['before']
  let { daemon } = scene
  for (const way of ['shutdown', 'SIGTERM', 'down']) {
    if (way === 'shutdown') await turnbell('shutdown', '--persona', PERSONA)
    else if (way === 'SIGTERM') await daemon.kill('SIGTERM')
    else await turnbell('down', '--yes')
    answerTo(`typed after ${way}`)
    await works(`typed after ${way}`)
    if (way === 'down') await scene.startHub()
    daemon = await scene.startDaemon()
    await eventually(
      `the window is known again after ${way}`,
      async () => {
        const { surface, connected } = await scene.status()
        return connected && surface.attached && surface.turn === 'idle' && surface.session_id === session_id
      },
      RUNG_AGAIN_WITHIN_MS,
    )
    payloads.push(`after ${way}`)
    await scene.settled([await scene.send(`after ${way}`)])
  }
  expectOneBellPerTurn(scene.model, payloads)
  if (pid === null) return
  expect(processAlive(pid)).toBe(true)
  // Without a daemon the last window ends the server.
  await daemon.kill('SIGTERM')
  expect(processAlive(pid)).toBe(true)
  await leave()
  await eventually('the server has ended with its last window', () => !processAlive(pid))
}
