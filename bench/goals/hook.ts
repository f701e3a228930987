/** Goal 13: the time that a client waits for each hook. */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { resolveHome } from '../../src/system/config/home.ts'
import { figure, interleave, micros, type Figure } from '../report/figures.ts'
import { bareNodeStart } from '../limits.ts'
import { addPersonas, startHub, TURNBELL } from '../hubs.ts'
import { cleanEnvironment } from '../../test/support/processes/processes.ts'
import { ROOT, temporaryDirectory } from '../processes.ts'

const ROUNDS = 9
const PERSONA = 'hooked'
const WARM_UP = 2
/** The input of a hook after a tool call. */
const PAYLOAD = JSON.stringify({
  session_id: '8c0f5c1e-3a58-4d5c-9d56-0b5a3f8f6d11',
  transcript_path: '/home/ada/.claude/projects/acme/8c0f5c1e.jsonl',
  cwd: '/home/ada/acme',
  hook_event_name: 'PostToolUse',
  tool_name: 'Edit',
  tool_input: { file_path: '/home/ada/acme/src/session.ts', old_string: 'a', new_string: 'b' },
})

interface Round {
  up: number
  down: number
  bare: number
}

export async function hook(): Promise<Figure[]> {
  const hub = await startHub('durable')
  try {
    await addPersonas(hub, [PERSONA])
    const down = temporaryDirectory()
    for (let count = 0; count < WARM_UP; count += 1) {
      await hookCall(hub.home)
      await hookCall(down)
    }
    const rounds = await interleave<Round>(ROUNDS, {
      up: () => hookCall(hub.home),
      down: () => hookCall(down),
      bare: bareNodeStart,
    })
    const untold = fs.readdirSync(resolveHome({}, hub.home).spool)
    if (untold.length > 0) throw new Error(`not every hook has told the hub: it left ${untold.join(', ')}`)
    const against = (of: 'up' | 'down') => rounds.map((round) => ({ value: round[of], limit: round.bare }))
    const call = 'from starting `turnbell hook PostToolUse` with what a client says on stdin to its end'
    const limit = 'limit: from starting `node -e ""` to its end'
    return [
      figure('hook-hub-up', 'ms', '13: <= 1.3', against('up'), () => [`${call}, hub up`, limit]),
      figure('hook-hub-down', 'ms', '13: <= 1.3', against('down'), () => [
        `${call}, no hub: it leaves a line for the next one`,
        limit,
      ]),
    ]
  } finally {
    await hub.stop()
  }
}

/** Returns the duration of a hook call in milliseconds. */
function hookCall(home: string): Promise<number> {
  const started = micros()
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [TURNBELL, 'hook', 'PostToolUse', '--client', 'claude-code', '--persona', PERSONA, '--home', home],
      { cwd: ROOT, env: cleanEnvironment(), stdio: ['pipe', 'ignore', 'inherit'] },
    )
    child.once('error', reject)
    child.once('exit', (code) => {
      if (code === 0) resolve((micros() - started) / 1000)
      else reject(new Error(`the hook ended with ${code}`))
    })
    child.stdin.end(PAYLOAD)
  })
}
