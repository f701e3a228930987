/**
 * Real agents behind the Agent Client Protocol, kept by the persona's daemon, against a real hub and a scripted
 * model, without a network. What counts is what the model was shown: one doorbell per turn, then the drained
 * signals, each of them once.
 */
import { beforeAll } from 'vitest'
import { describeClient } from '../suites/client.suite.ts'
import { openOpencodeAcpWorld } from '../support/acp-world.ts'
import { opencodeProgram } from '../support/opencode-world.ts'
import { scenesOf } from '../support/scene.ts'

const open = scenesOf(
  {
    drain: 'turnbell_signals_pending',
    shell: (command) => ({ name: 'bash', input: { command, description: 'wait' } }),
  },
  openOpencodeAcpWorld,
)

beforeAll(() => void opencodeProgram())

describeClient('opencode acp', {
  open: () => open(),
  begin: async (scene) => {
    await scene.turnIs('idle')
    return { say: (text) => scene.send(text) }
  },
  says_by_signal: true,
})
