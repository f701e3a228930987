/** Damages every file of the spool in every way, before a hub consumes it and while a hub runs. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { FindingDocument } from '../../../src/cli/doctor/finding.ts'
import { appendToSpool } from '../../../src/cli/hooks/spool.ts'
import { parseJsonOrNull } from '../../../src/contracts/validation/json.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { Spooled } from '../../../src/contracts/spool/spool.ts'
import type { LineOutcome } from '../../../src/ports/spool.ts'
import { openSpool } from '../../../src/storage/file/spool/spool.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { prepareHome, resolveHome } from '../../../src/system/config/home.ts'
import { createIds, systemRandom } from '../../../src/system/random.ts'
import { DAMAGES, DAMAGES_OF } from '../../support/disk/damage.ts'
import { rowOf } from '../../support/disk/damage-table.ts'
import { eachLine } from '../../support/each-line.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testCli } from '../../support/processes/test-cli.ts'

const FILES = [/^hooks\.jsonl$/, /^waiting\.jsonl$/, /^rejected\.jsonl$/, /\.taken$/, /\.taken\.done$/]
const CELLS = FILES.flatMap((file) => DAMAGES_OF.file.map((damage) => ({ file, damage })))
let cells = 0
afterAll(() => console.log(`files of the spool, damaged: ${cells} cells`))

const ids = createIds(systemClock, systemRandom)

/** Returns a spool with one taken line, one waiting, one rejected, and one new. */
async function usedSpool() {
  const root = path.join(temporaryDirectory(), 'home')
  const home = resolveHome({}, root)
  prepareHome(home)
  const handed: string[] = []
  let ahead_ms = 0
  const say = (word: string) =>
    appendToSpool(
      { cli: { ids, clock: systemClock }, home },
      { type: 'hook', client: 'codex', identity: 'ada', body: { word } },
    )
  const take = async (line: string): Promise<LineOutcome> => {
    const read = Spooled.safeParse(parseJsonOrNull(line))
    if (!read.success || !('body' in read.data)) return { refused: 'it cannot be read' }
    const word = String((read.data.body as { word?: unknown }).word)
    if (word === 'waits') return { later: 'not now' }
    handed.push(word)
    return word === 'bad' ? { refused: 'it is bad' } : 'taken'
  }
  const open = () => {
    const clock = { now: () => Date.now() + ahead_ms, monotonic: () => ahead_ms }
    const spool = openSpool({ directory: home.spool, clock, ids })
    return { takeAll: () => spool.consume(eachLine(take)) }
  }
  const spool = open()
  for (const word of ['one', 'waits', 'bad']) say(word)
  await spool.takeAll()
  say('two')
  const pass = () => (ahead_ms += LIMITS.spool_quiet_ms + 1)
  return { root, home, handed, say, open, spool, pass }
}

/** Follows doctor's advice about the spool until no finding is left. */
async function followDoctor(root: string): Promise<void> {
  for (let advice = 0; ; advice += 1) {
    const turnbell = testCli({ home: root, env: { PATH: '' } })
    await turnbell.run('doctor', '--json')
    const { findings } = turnbell.json<{ findings: FindingDocument[] }>()
    const found = findings.find(({ check, state }) => check === 'spool' && state !== 'ok')
    if (found === undefined) return
    expect(advice, `the advice changes nothing: ${found.mend}`).toBeLessThan(5)
    const command = /`((?:rm|mv) [^`]+)`/.exec(found.mend ?? '')?.[1]
    expect(command, `no command in: ${found.mend}`).toBeDefined()
    execFileSync('sh', ['-c', command ?? 'false'])
  }
}

test.each([
  ['before a hub consumes it', true],
  ['under a hub that has consumed it', false],
])('each file of the spool behaves as its row states after damage %s', async (_, is_reopened) => {
  for (const { file, damage } of CELLS) {
    const { root, home, handed, say, open, spool, pass } = await usedSpool()
    const name = fs.readdirSync(home.spool).find((one) => file.test(one)) ?? ''
    const cell = `${name}, ${damage}`
    expect(rowOf(`spool/${name}`)?.stopped, cell).toEqual({ otherwise: 'heals' })
    expect(rowOf(`spool/${name}`)?.running, cell).toEqual({ otherwise: 'heals' })
    DAMAGES[damage](path.join(home.spool, name))
    const next = is_reopened ? open() : spool
    say('three')
    for (let look = 0; look < 3; look += 1) {
      await next.takeAll()
      pass()
    }
    // A line is lost only together with its file.
    expect(handed.includes('three'), cell).toBe(true)
    if (name !== 'hooks.jsonl') expect(handed.includes('two'), cell).toBe(true)
    await followDoctor(root)
    cells += 1
  }
})
