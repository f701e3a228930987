import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { silentLog } from '../../../src/ports/log.ts'
import { projectOpener } from '../../../src/storage/open-projects.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

test('a project is where its directory is, for as long as it is there', async () => {
  const root = path.join(temporaryDirectory(), 'shop')
  const open = projectOpener({ log: silentLog })
  expect(open(root)).toBeNull()
  fs.mkdirSync(root)
  const records = open(root)
  await records?.put('note', 'a', { text: 'x' })
  expect(open(root)).toBe(records)
  fs.rmSync(root, { recursive: true })
  expect(open(root)).toBeNull()
  fs.writeFileSync(root, 'a file')
  expect(open(root)).toBeNull()
})

test('a file that is no record is told to the log, with where it is kept', async () => {
  const root = temporaryDirectory()
  const warned: object[] = []
  const records = projectOpener({ log: { ...silentLog, warn: (fields) => void warned.push(fields) } })(root)
  await records?.put('note', 'a', { text: 'x' })
  fs.writeFileSync(path.join(root, '.turnbell/records/note/b.json'), '{')
  expect(await records?.list('note')).toHaveLength(1)
  const kept_in = path.join(root, '.turnbell/rejected/note/b.json')
  expect(warned).toMatchObject([{ kept_in, reason: /no JSON/ }])
  expect(fs.readFileSync(kept_in, 'utf8')).toBe('{')
})
