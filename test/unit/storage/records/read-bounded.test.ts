import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { readProjectText } from '../../../../src/storage/file/records/read-bounded.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

let root: string
beforeEach(() => {
  root = temporaryDirectory()
  fs.mkdirSync(path.join(root, 'docs'))
  fs.writeFileSync(path.join(root, 'docs/a.md'), 'grün und gut')
})

describe('the text of a project file', () => {
  test('the text is truncated between characters', async () => {
    expect(await readProjectText(root, 'docs/a.md', 100)).toEqual({ text: 'grün und gut', truncated: false })
    expect(await readProjectText(root, './docs/../docs/a.md', 13)).toMatchObject({ truncated: false })
    expect(await readProjectText(root, path.join(root, 'docs/a.md'), 3)).toEqual({
      ...{ text: 'gr', truncated: true },
    })
  })

  test.each<[string, RegExp]>([
    ['docs/b.md', /no such file/],
    ['docs', /regular file/],
    ['docs/a.md/b', /no such file/],
    ['../outside.md', /outside of the project|no such file/],
    ['/etc/passwd', /outside of the project/],
    ['link.md', /outside of the project/],
    ['linked/passwd', /outside of the project/],
    ['docs/\0a.md', /no such file/],
    ['x'.repeat(300), /no such file/],
    ['docs/'.repeat(2_000), /no such file/],
  ])('%s is not read', async (name, reason) => {
    fs.symlinkSync('/etc/passwd', path.join(root, 'link.md'))
    fs.symlinkSync('/etc', path.join(root, 'linked'))
    expect(await readProjectText(root, name, 100)).toEqual({
      reason: expect.stringMatching(reason) as string,
    })
  })
})
