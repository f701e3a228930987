/** Tests listing a folder during a put of the same process. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { QuarantineNotice } from '../../../../src/storage/file/records/quarantine-file.ts'
import { RecordFolder } from '../../../../src/storage/file/records/record-folder.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const BODY = { id: 'a', kind: 'issue', title: 'x' }
const said = (title: string) => JSON.stringify({ ...BODY, title, updated_at: title })
const CONFLICT = `<<<<<<< HEAD\n${said('1')}\n=======\n${said('2')}\n>>>>>>> x\n`
const JOINED = [{ id: 'a', body: { ...BODY, title: '2', updated_at: '2' } }]
const PUT = { ...BODY, title: 'put' }

/** Calls `meanwhile` when a list has read both sides of a merge and is about to rewrite them. */
function conflicted(meanwhile: (records: RecordFolder) => Promise<unknown>) {
  const root = temporaryDirectory()
  const folder = path.join(root, 'issue')
  const file = path.join(folder, 'a.json')
  fs.mkdirSync(folder)
  fs.writeFileSync(file, CONFLICT)
  // In the future, so no write is in progress.
  fs.utimesSync(file, 4e9, 4e9)
  const notices: QuarantineNotice[] = []
  const looks: (() => void)[] = []
  const records = new RecordFolder({
    ...{ kind: 'issue', folder, rejected: path.join(root, 'rejected'), form: 'plain' },
    edited: true,
    onRejected: (notice) => notices.push(notice),
    mayChange: () => looks.shift()?.(),
    async exclusively(work) {
      await meanwhile(records)
      await work()
      return true
    },
  })
  return { records, folder, file, looks, notices, kept: path.join(root, 'rejected', 'a.json') }
}

test('a list leaves a merged file, and its draft, to a put that replaces it', async () => {
  let put = Promise.resolve()
  const { records, folder, looks, notices, kept } = conflicted(async () => {
    // Waits until its draft exists and is not synced yet: the second request.
    const drafted = new Promise<void>((resolve) => looks.push(() => undefined, resolve))
    put = records.put('a', PUT)
    await drafted
    expect(fs.readdirSync(folder)).toContain('a.json.new')
  })
  expect(await records.list()).toEqual(JOINED)
  await put
  expect(await records.list()).toEqual([{ id: 'a', body: PUT }])
  expect(fs.readdirSync(folder)).toEqual(['a.json'])
  expect(fs.readFileSync(kept, 'utf8')).toBe(CONFLICT)
  expect(notices).toHaveLength(1)
})

test('a list rewrites a merged file after a put has ended, and removes its draft', async () => {
  const { records, folder, file, looks, kept } = conflicted(async () => {
    looks.push(
      () => undefined,
      () => undefined,
      () => {
        throw new Error('broke')
      },
    )
    await expect(records.put('a', PUT)).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(fs.readdirSync(folder)).toContain('a.json.new')
  })
  expect(await records.list()).toEqual(JOINED)
  expect(fs.readdirSync(folder)).toEqual(['a.json'])
  expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toEqual(JOINED[0]?.body)
  expect(fs.readFileSync(kept, 'utf8')).toBe(CONFLICT)
})
