/** Logs that do not grow without end. */
import fs from 'node:fs'
import path from 'node:path'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { pino } from 'pino'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { openLogFile } from '../../../src/system/log-file.ts'
import { openOutput } from '../../../src/system/long-file.ts'
import { fileLog } from '../../../src/system/stderr-log.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const LINE = `${'x'.repeat(39)}\n`
const lines = (file: string) => fs.readFileSync(file, 'utf8').split('\n').length - 1

/** As long as a log may be, without taking the room. */
function longFile(file: string): void {
  fs.writeFileSync(file, '')
  fs.truncateSync(file, LIMITS.log_file_bytes_max)
}

describe('a log file', () => {
  test('that has grown long is set aside, and no more than one is kept', () => {
    const file = path.join(temporaryDirectory(), 'hub.log')
    const log = openLogFile(file, { sync: true, bytes_max: 100 })
    // Three lines are more than a hundred bytes.
    for (let line = 0; line < 8; line += 1) log.write(LINE)
    expect([lines(file), lines(`${file}.1`)]).toEqual([2, 3])
    expect(fs.readdirSync(path.dirname(file)).sort()).toEqual(['hub.log', 'hub.log.1'])
    expect(fs.statSync(file).mode & 0o777).toBe(0o600)
  })

  test('counts what was there before', () => {
    const file = path.join(temporaryDirectory(), 'hub.log')
    fs.writeFileSync(file, LINE + LINE)
    const log = pino(openLogFile(file, { sync: true, bytes_max: 100 }))
    log.info('the third')
    log.info('the fourth')
    expect(lines(`${file}.1`)).toBe(3)
    expect(fs.readFileSync(file, 'utf8')).toContain('the fourth')
  })

  test('that is written behind loses nothing on the way', async () => {
    const file = path.join(temporaryDirectory(), 'dispatch.jsonl')
    const log = openLogFile(file, { sync: false, bytes_max: 100 })
    await once(log, 'ready')
    for (let line = 0; line < 4; line += 1) {
      log.write(LINE)
      await once(log, 'drain')
    }
    log.end()
    await once(log, 'close')
    expect(lines(file) + lines(`${file}.1`)).toBe(4)
  })

  test('that another process has set aside is not set aside again', () => {
    const file = path.join(temporaryDirectory(), 'hub.log')
    const [one, other] = [1, 2].map(() => openLogFile(file, { sync: true, bytes_max: 100 }))
    for (let line = 0; line < 3; line += 1) one?.write(LINE)
    for (let line = 0; line < 3; line += 1) other?.write(LINE)
    expect(lines(`${file}.1`), 'the other still wrote there').toBe(6)
    other?.write(LINE)
    expect(lines(file)).toBe(1)
  })

  test('that cannot be set aside goes on', () => {
    const file = path.join(temporaryDirectory(), 'hub.log')
    fs.mkdirSync(`${file}.1`)
    const log = openLogFile(file, { sync: true, bytes_max: 100 })
    for (let line = 0; line < 8; line += 1) log.write(LINE)
    expect(lines(file)).toBe(8)
  })

  test('of a small process, and what a process in the background prints, are no longer than that', () => {
    const directory = temporaryDirectory()
    const [log, output] = [path.join(directory, 'ada.log'), path.join(directory, 'ada.out')]
    longFile(log)
    longFile(output)
    fileLog('info', { name: 'worker' }, log).info({}, 'a line')
    fs.closeSync(openOutput(output))
    expect([lines(log), fs.statSync(output).size]).toEqual([1, 0])
    expect(fs.readdirSync(directory).sort()).toEqual(['ada.log', 'ada.log.1', 'ada.out', 'ada.out.1'])
  })
})
