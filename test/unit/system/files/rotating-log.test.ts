/** Logs with rotation. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { pino } from 'pino'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { openRotatingLog } from '../../../../src/system/files/rotating-log.ts'
import { openOutput } from '../../../../src/system/files/log-rotation.ts'
import { fileLog } from '../../../../src/system/files/json-log.ts'
import { eventually } from '../../../support/eventually.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

/** Asynchronous, each line at once. */
const ASYNC = { gathered_bytes: 1, waiting_bytes_max: 1_000 }
const LINE = `${'x'.repeat(39)}\n`
const lines = (file: string) => fs.readFileSync(file, 'utf8').split('\n').length - 1

/** Accepts no byte, like a full disk. */
const FULL_DISK = fs.existsSync('/dev/full')

function onFullDisk(): string {
  const file = path.join(temporaryDirectory(), 'full.log')
  fs.symlinkSync('/dev/full', file)
  return file
}

/** A file of the maximum size, without using the space. */
function longFile(file: string): void {
  fs.writeFileSync(file, '')
  fs.truncateSync(file, LIMITS.log_file_bytes_max)
}

describe('a log file', () => {
  test('a long log is rotated, and only one old file is kept', () => {
    const file = path.join(temporaryDirectory(), 'hub.log')
    const log = openRotatingLog(file, { bytes_max: 100 })
    // Three lines are more than a hundred bytes.
    for (let line = 0; line < 8; line += 1) log.write(LINE)
    expect([lines(file), lines(`${file}.1`)]).toEqual([2, 3])
    expect(fs.readdirSync(path.dirname(file)).sort()).toEqual(['hub.log', 'hub.log.1'])
    expect(fs.statSync(file).mode & 0o777).toBe(0o600)
  })

  test.each([
    ['removed', (file: string) => fs.rmSync(file)],
    ['renamed', (file: string) => fs.renameSync(file, `${file}.old`)],
    [
      'replaced by a directory that is moved away later',
      (file: string) => {
        fs.rmSync(file)
        fs.mkdirSync(file)
      },
    ],
  ])('a log that was %s is recreated', (_, damage) => {
    const file = path.join(temporaryDirectory(), 'hub.log')
    const log = openRotatingLog(file, { look_ms: 0 })
    log.write(LINE)
    damage(file)
    log.write(LINE)
    if (fs.statSync(file).isDirectory()) fs.rmdirSync(file)
    log.write(LINE)
    expect(lines(file)).toBeGreaterThan(0)
    log.close()
  })

  test('the existing size of a log counts', () => {
    const file = path.join(temporaryDirectory(), 'hub.log')
    fs.writeFileSync(file, LINE + LINE)
    const log = pino({}, openRotatingLog(file, { bytes_max: 100 }))
    log.info('the third')
    log.info('the fourth')
    expect(lines(`${file}.1`)).toBe(3)
    expect(fs.readFileSync(file, 'utf8')).toContain('the fourth')
  })

  test('an asynchronous log loses no line', async () => {
    const file = path.join(temporaryDirectory(), 'dispatch.jsonl')
    const log = openRotatingLog(file, { async: ASYNC, bytes_max: 100 })
    const kept = () => lines(file) + (fs.existsSync(`${file}.1`) ? lines(`${file}.1`) : 0)
    for (let line = 1; line <= 4; line += 1) {
      log.write(LINE)
      await eventually('the line is written', () => kept() === line)
    }
    log.close()
    expect([lines(file), lines(`${file}.1`)]).toEqual([1, 3])
  })

  test('an asynchronous log is complete after close, and accepts a late line', async () => {
    const file = path.join(temporaryDirectory(), 'dispatch.jsonl')
    const log = openRotatingLog(file, { async: ASYNC })
    for (let line = 0; line < 3; line += 1) log.write(LINE)
    log.close()
    await eventually('what was under way arrives', () => lines(file) === 3)
    log.write(LINE)
    log.close()
    await eventually('the late one arrives', () => lines(file) === 4)
  })

  test('a log that another process has rotated is not rotated again', () => {
    const file = path.join(temporaryDirectory(), 'hub.log')
    const [one, other] = [1, 2].map(() => openRotatingLog(file, { bytes_max: 100 }))
    for (let line = 0; line < 3; line += 1) one?.write(LINE)
    for (let line = 0; line < 3; line += 1) other?.write(LINE)
    expect(lines(`${file}.1`), 'the other still wrote there').toBe(6)
    other?.write(LINE)
    expect(lines(file)).toBe(1)
  })

  test('a log that cannot be rotated continues', () => {
    const file = path.join(temporaryDirectory(), 'hub.log')
    fs.mkdirSync(`${file}.1`)
    const log = openRotatingLog(file, { bytes_max: 100 })
    for (let line = 0; line < 8; line += 1) log.write(LINE)
    expect(lines(file)).toBe(8)
  })

  test.skipIf(!FULL_DISK)('a log drops lines on a full disk and reports it once', () => {
    const errors: string[] = []
    const log = openRotatingLog(onFullDisk(), { onDropped: (error) => errors.push(error.message) })
    for (let line = 0; line < 3; line += 1) log.write(LINE)
    log.flush()
    log.close()
    log.write(LINE)
    expect(errors).toEqual([expect.stringContaining('ENOSPC')])
  })

  test.skipIf(!FULL_DISK)('an asynchronous log drops lines on a full disk without waiting', async () => {
    const errors: string[] = []
    const log = openRotatingLog(onFullDisk(), {
      async: ASYNC,
      onDropped: (error) => errors.push(error.message),
    })
    log.write(LINE)
    await eventually('it is reported', () => errors.length === 1)
    for (let line = 0; line < 3; line += 1) log.write(LINE)
    log.flush()
    log.close()
    expect(errors).toEqual([expect.stringContaining('ENOSPC')])
  })

  test.skipIf(!FULL_DISK)('a process on a full disk can log its last lines and exit', () => {
    const file = onFullDisk()
    const log = pino({}, openRotatingLog(file))
    expect(() => log.fatal({ err: new Error('a bug') }, 'a bug')).not.toThrow()
  })

  test('a log continues when it can be opened later', () => {
    const directory = path.join(temporaryDirectory(), 'logs')
    const errors: Error[] = []
    const file = path.join(directory, 'hub.log')
    const log = openRotatingLog(file, { onDropped: (error) => errors.push(error) })
    log.write(LINE)
    fs.mkdirSync(directory)
    log.write(LINE)
    expect([lines(file), errors.length]).toEqual([1, 1])
  })

  test('a line after an incomplete one starts on a new line', () => {
    const file = path.join(temporaryDirectory(), 'hub.log')
    const log = openRotatingLog(file)
    const { writeSync } = fs
    // Like a disk with space for ten bytes.
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

  test('a log buffers lines and has all of them after flush', () => {
    const file = path.join(temporaryDirectory(), 'dispatch.jsonl')
    const log = openRotatingLog(file, { async: { gathered_bytes: 100, waiting_bytes_max: 1_000 } })
    log.write(LINE)
    log.write(LINE)
    expect(lines(file)).toBe(0)
    log.flush()
    expect(lines(file)).toBe(2)
  })

  test('a log buffers lines while a write is running', async () => {
    const file = path.join(temporaryDirectory(), 'dispatch.jsonl')
    const log = openRotatingLog(file, { async: { gathered_bytes: 50, waiting_bytes_max: 1_000 } })
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
    log.startWrite()
    await eventually('the third arrives when it is asked for', () => lines(file) === 3)
    log.close()
  })

  test('a log drops lines above its limit while the disk is stalled', async () => {
    const file = path.join(temporaryDirectory(), 'dispatch.jsonl')
    const log = openRotatingLog(file, { async: { gathered_bytes: 1, waiting_bytes_max: 100 } })
    // The first is being written; two are buffered, and a third has no space.
    for (let line = 0; line < 4; line += 1) log.write(LINE)
    log.close()
    await eventually('what was under way arrives', () => lines(file) === 3)
  })

  test('the log of a small process and the output of a background process are rotated too', () => {
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
