/** Computes vectors with the real runtime and a small model in the published format. */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { SearchDoc } from '../../src/modules/search/search-doc.ts'
import { createSearch } from '../../src/modules/search/search.ts'
import { silentLog } from '../../src/ports/log.ts'
import { createVectorFile } from '../../src/storage/file/project/vector-file.ts'
import { systemClock } from '../../src/system/clock.ts'
import { createOnnxEmbedder } from '../../src/system/embedding/onnx-embedder.ts'
import { ranked, searchDoc } from '../support/search-docs.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { writeTinyModel } from '../support/fakes/tiny-model.ts'

const JUDGES = path.resolve(import.meta.dirname, '../../.judges')

function embedderOf(model_dir: string) {
  const embedder = createOnnxEmbedder({ model_dir, places: [JUDGES] })
  onTestFinished(() => embedder.close())
  return embedder
}

let model: string
beforeAll(() => {
  model = path.join(fs.mkdtempSync(path.join(process.env['TMPDIR'] ?? '/tmp', 'model-')), 'tiny')
  writeTinyModel(model)
})

describe('a model that the real runtime runs', () => {
  test('a model returns the vectors of its table', async () => {
    const vectors = await embedderOf(model).embed(['login', 'Passwords!', 'cache redis', 'login cache'])
    const expected = [
      [1, 0, 0],
      [3, 1, 0],
      [0, 1, 4],
      [2, 0, 1],
    ]
    for (const [at, parts] of expected.entries()) {
      for (const [part, value] of parts.entries())
        expect(vectors[at]?.[part]).toBeCloseTo(value / Math.hypot(...parts), 5)
    }
  })

  test('a model returns the same vectors for many texts as for each alone, whatever the other lengths', async () => {
    const embedder = embedderOf(model)
    const texts = Array.from(
      { length: 40 },
      (_, at) => 'cache '.repeat(at % 9) + (at % 2 === 0 ? 'login' : 'redis'),
    )
    const together = await embedder.embed(texts)
    for (const [at, text] of texts.entries()) expect([together[at]]).toEqual(await embedder.embed([text]))
  })

  test('a model loads again after it was unloaded', async () => {
    const embedder = embedderOf(model)
    const before = await embedder.embed(['login'])
    await embedder.close()
    expect(await embedder.embed(['login'])).toEqual(before)
  })

  test('a model makes a search use meaning, and its vectors survive it', async () => {
    const root = temporaryDirectory()
    const docs = [searchDoc('a', 'We moved the passwords'), searchDoc('b', 'Redis is gone')]
    for (const _ of ['first', 'again']) {
      const vectors = createVectorFile(root, 'blackboard')
      const parts = { embedder: embedderOf(model), vectors, clock: systemClock, log: silentLog }
      const search = createSearch<SearchDoc>({ ...parts, read: (doc) => doc })
      const { scores, degraded } = await search.rank(docs, 'login')
      expect(degraded).toBe(false)
      expect(ranked(scores)).toEqual(['a', 'b'])
      expect(scores.get('a')).toBeGreaterThan(0.9)
      await search.close()
    }
    const kept = fs.readFileSync(path.join(root, '.turnbell/embeddings/blackboard.index'), 'utf8')
    expect(JSON.parse(kept)).toMatchObject({
      model: 'tiny',
      dimension: 3,
      entries: [{ id: 'a' }, { id: 'b' }],
    })
  })
})

describe('an invalid network', () => {
  test.each([
    ['empty', ''],
    ['no ONNX', 'this is no model'],
    ['cut off', null],
  ])('an invalid network is rejected by the runtime: %s', async (_, text) => {
    const folder = path.join(temporaryDirectory(), 'broken')
    writeTinyModel(folder)
    const file = path.join(folder, 'model.onnx')
    fs.writeFileSync(file, text ?? fs.readFileSync(file).subarray(0, 100))
    await expect(embedderOf(folder).embed(['login'])).rejects.toMatchObject({
      ...{ code: 'embedding_failed', detail: expect.stringContaining('could not be loaded') as string },
    })
  })

  test('a network without sentence vectors is rejected', async () => {
    const folder = path.join(temporaryDirectory(), 'other')
    writeTinyModel(folder, 'logits')
    await expect(embedderOf(folder).embed(['login'])).rejects.toMatchObject({
      ...{ code: 'embedding_failed', detail: expect.stringContaining('logits') as string },
    })
  })
})
