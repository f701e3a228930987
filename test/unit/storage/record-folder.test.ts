/** A list of a folder while a put of the same process is at it. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { createRecordFolder, type RejectedRecord } from '../../../src/storage/file/record-folder.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const BODY = { id: 'a', kind: 'issue', title: 'x' }
const said = (title: string) => JSON.stringify({ ...BODY, title, updated_at: title })
const CONFLICT = `<<<<<<< HEAD\n${said('1')}\n=======\n${said('2')}\n>>>>>>> x\n`
const JOINED = [{ id: 'a', body: { ...BODY, title: '2', updated_at: '2' } }]
const PUT = { ...BODY, title: 'put' }

/** Calls `meanwhile` when a list has read both sides of a merge and would write them anew. */
function conflicted(meanwhile: (records: ReturnType<typeof createRecordFolder>) => Promise<unknown>) {
  const root = temporaryDirectory()
  const folder = path.join(root, 'issue')
  const file = path.join(folder, 'a.json')
  fs.mkdirSync(folder)
  fs.writeFileSync(file, CONFLICT)
  // In a time to come: nobody is still at it.
  fs.utimesSync(file, 4e9, 4e9)
  const notices: RejectedRecord[] = []
  const looks: (() => void)[] = []
  const records = createRecordFolder({
    ...{ kind: 'issue', folder, rejected: path.join(root, 'rejected'), form: 'plain' },
    ...{ secret: false, edited: true, onRejected: (notice) => notices.push(notice) },
    mayChange: () => looks.shift()?.(),
    async alone(work) {
      await meanwhile(records)
      await work()
      return true
    },
  })
  return { records, folder, file, looks, notices, kept: path.join(root, 'rejected', 'a.json') }
}

test('a list leaves both sides of a merge to a put that takes their place, and its draft alone', async () => {
  let put = Promise.resolve()
  const { records, folder, looks, notices, kept } = conflicted(async () => {
    // Until it has begun its draft, which is not synced yet: the second time that it asks.
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

test('a list writes both sides of a merge anew where a put has ended before, and what it left goes', async () => {
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
