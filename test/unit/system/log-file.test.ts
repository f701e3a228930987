/** Logs that do not grow without end. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { pino } from 'pino'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { openLogFile } from '../../../src/system/log-file.ts'
import { openOutput } from '../../../src/system/long-file.ts'
import { fileLog } from '../../../src/system/stderr-log.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

/** Written behind, each line as soon as it comes. */
const BEHIND = { gathered_bytes: 1, waiting_bytes_max: 1_000 }
const LINE = `${'x'.repeat(39)}\n`
const lines = (file: string) => fs.readFileSync(file, 'utf8').split('\n').length - 1

/** Takes no byte, as a full disk does. */
const FULL_DISK = fs.existsSync('/dev/full')

function onFullDisk(): string {
  const file = path.join(temporaryDirectory(), 'full.log')
  fs.symlinkSync('/dev/full', file)
  return file
}

/** As long as a log may be, without taking the room. */
function longFile(file: string): void {
  fs.writeFileSync(file, '')
  fs.truncateSync(file, LIMITS.log_file_bytes_max)
}

describe('a log file', () => {
  test('that has grown long is set aside, and no more than one is kept', () => {
    const file = path.join(temporaryDirectory(), 'hub.log')
    const log = openLogFile(file, { bytes_max: 100 })
    // Three lines are more than a hundred bytes.
    for (let line = 0; line < 8; line += 1) log.write(LINE)
    expect([lines(file), lines(`${file}.1`)]).toEqual([2, 3])
    expect(fs.readdirSync(path.dirname(file)).sort()).toEqual(['hub.log', 'hub.log.1'])
    expect(fs.statSync(file).mode & 0o777).toBe(0o600)
  })

  test('counts what was there before', () => {
    const file = path.join(temporaryDirectory(), 'hub.log')
    fs.writeFileSync(file, LINE + LINE)
    const log = pino({}, openLogFile(file, { bytes_max: 100 }))
    log.info('the third')
    log.info('the fourth')
    expect(lines(`${file}.1`)).toBe(3)
    expect(fs.readFileSync(file, 'utf8')).toContain('the fourth')
  })

  test('that is written behind loses nothing on the way', async () => {
    const file = path.join(temporaryDirectory(), 'dispatch.jsonl')
    const log = openLogFile(file, { behind: BEHIND, bytes_max: 100 })
    const kept = () => lines(file) + (fs.existsSync(`${file}.1`) ? lines(`${file}.1`) : 0)
    for (let line = 1; line <= 4; line += 1) {
      log.write(LINE)
      await eventually('the line is written', () => kept() === line)
    }
    log.close()
    expect([lines(file), lines(`${file}.1`)]).toEqual([1, 3])
  })

  test('that is written behind is whole once it is closed, and takes a line that comes too late', async () => {
    const file = path.join(temporaryDirectory(), 'dispatch.jsonl')
    const log = openLogFile(file, { behind: BEHIND })
    for (let line = 0; line < 3; line += 1) log.write(LINE)
    log.close()
    await eventually('what was under way arrives', () => lines(file) === 3)
    log.write(LINE)
    log.close()
    await eventually('the late one arrives', () => lines(file) === 4)
  })

  test('that another process has set aside is not set aside again', () => {
    const file = path.join(temporaryDirectory(), 'hub.log')
    const [one, other] = [1, 2].map(() => openLogFile(file, { bytes_max: 100 }))
    for (let line = 0; line < 3; line += 1) one?.write(LINE)
    for (let line = 0; line < 3; line += 1) other?.write(LINE)
    expect(lines(`${file}.1`), 'the other still wrote there').toBe(6)
    other?.write(LINE)
    expect(lines(file)).toBe(1)
  })

  test('that cannot be set aside goes on', () => {
    const file = path.join(temporaryDirectory(), 'hub.log')
    fs.mkdirSync(`${file}.1`)
    const log = openLogFile(file, { bytes_max: 100 })
    for (let line = 0; line < 8; line += 1) log.write(LINE)
    expect(lines(file)).toBe(8)
  })

  test.skipIf(!FULL_DISK)('drops on a full disk what is written at once, and says so once', () => {
    const errors: string[] = []
    const log = openLogFile(onFullDisk(), { onDropped: (error) => errors.push(error.message) })
    for (let line = 0; line < 3; line += 1) log.write(LINE)
    log.flush()
    log.close()
    log.write(LINE)
    expect(errors).toEqual([expect.stringContaining('ENOSPC')])
  })

  test.skipIf(!FULL_DISK)('drops on a full disk what is written behind, and waits for nothing', async () => {
    const errors: string[] = []
    const log = openLogFile(onFullDisk(), {
      behind: BEHIND,
      onDropped: (error) => errors.push(error.message),
    })
    log.write(LINE)
    await eventually('it is told', () => errors.length === 1)
    for (let line = 0; line < 3; line += 1) log.write(LINE)
    log.flush()
    log.close()
    expect(errors).toEqual([expect.stringContaining('ENOSPC')])
  })

  test.skipIf(!FULL_DISK)('lets a process on a full disk log its last words and end', () => {
    const file = onFullDisk()
    const log = pino({}, openLogFile(file))
    expect(() => log.fatal({ err: new Error('a bug') }, 'a bug')).not.toThrow()
  })

  test('goes on where it can be opened later', () => {
    const directory = path.join(temporaryDirectory(), 'logs')
    const errors: Error[] = []
    const file = path.join(directory, 'hub.log')
    const log = openLogFile(file, { onDropped: (error) => errors.push(error) })
    log.write(LINE)
    fs.mkdirSync(directory)
    log.write(LINE)
    expect([lines(file), errors.length]).toEqual([1, 1])
  })

  test('begins a line anew after half a one', () => {
    const file = path.join(temporaryDirectory(), 'hub.log')
    const log = openLogFile(file)
    const { writeSync } = fs
    // As a disk does that has room for ten bytes more.
    let room = 10
    const short = (fd: number, bytes: Buffer) => {
      if (room === 0) throw new Error('ENOSPC')
      const taken = writeSync(fd, bytes.subarray(0, room))
      room -= taken
      return taken
    }
    const full = vi.spyOn(fs, 'writeSync').mockImplementation(short as typeof fs.writeSync)
    log.write(LINE)
    full.mockRestore()
    log.write(LINE)
    expect(fs.readFileSync(file, 'utf8')).toBe(`${LINE.slice(0, 10)}\n${LINE}`)
  })

  test('gathers lines, and has them all once it is flushed', () => {
    const file = path.join(temporaryDirectory(), 'dispatch.jsonl')
    const log = openLogFile(file, { behind: { gathered_bytes: 100, waiting_bytes_max: 1_000 } })
    log.write(LINE)
    log.write(LINE)
    expect(lines(file)).toBe(0)
    log.flush()
    expect(lines(file)).toBe(2)
  })

  test('gathers on while what was gathered is written', async () => {
    const file = path.join(temporaryDirectory(), 'dispatch.jsonl')
    const log = openLogFile(file, { behind: { gathered_bytes: 50, waiting_bytes_max: 1_000 } })
    const toWrite = fs.write
    const written = new Promise<void>((resolve) => {
      const slow = (fd: number, text: Buffer, done: (error: Error | null, bytes: number) => void) =>
        toWrite(fd, text, (error, bytes) => {
          done(error, bytes)
          resolve()
        })
      vi.spyOn(fs, 'write').mockImplementation(slow as typeof fs.write)
    })
    for (let line = 0; line < 3; line += 1) log.write(LINE)
    await written
    expect(fs.write).toHaveBeenCalledTimes(1)
    vi.restoreAllMocks()
    expect(lines(file)).toBe(2)
    log.handOver()
    await eventually('the third arrives when it is asked for', () => lines(file) === 3)
    log.close()
  })

  test('holds no more than it may while the disk stands still', async () => {
    const file = path.join(temporaryDirectory(), 'dispatch.jsonl')
    const log = openLogFile(file, { behind: { gathered_bytes: 1, waiting_bytes_max: 100 } })
    // The first is under way; two wait, and a third has no room.
    for (let line = 0; line < 4; line += 1) log.write(LINE)
    log.close()
    await eventually('what was under way arrives', () => lines(file) === 3)
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
