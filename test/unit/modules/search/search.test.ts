import { describe, expect, test } from 'vitest'
import type { SearchDoc } from '../../../../src/modules/search/search-doc.ts'
import { createSearch } from '../../../../src/modules/search/search.ts'
import type { Embedder } from '../../../../src/ports/embedder.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import type { VectorStore } from '../../../../src/ports/vector-store.ts'
import { atRest, fakeClock } from '../../../support/fakes/fake-clock.ts'
import { playedEmbedder, playedShelf, vectorOf } from '../../../support/fakes/fake-embedder.ts'
import { ranked, searchDoc } from '../../../support/search-docs.ts'

const LOGIN = searchDoc('login', 'Password checks moved', {
  body: 'They live behind sign in now.',
  also: 'x',
})
const CACHE = searchDoc('cache', 'Redis is gone')
const RELEASE = searchDoc('release', 'We ship on Mondays')
const DOCS = [LOGIN, CACHE, RELEASE]

function world(embedder: Embedder | null, shelf: VectorStore | null = null) {
  const clock = fakeClock()
  const warnings: string[] = []
  const note = (_: object, message: string) => void warnings.push(message)
  const log = { debug() {}, info() {}, warn: note, error: note }
  const search = createSearch<SearchDoc>({ embedder, vectors: shelf, read: (doc) => doc, clock, log })
  return { search, clock, warnings }
}

const many = (count: number) => Array.from({ length: count }, (_, at) => searchDoc(`d${at}`, `release ${at}`))

describe('with a model, a search', () => {
  test('a search with a model finds the same meaning without a common word', async () => {
    const { search } = world(playedEmbedder())
    const { scores, ...rest } = await search.rank(DOCS, 'authentication')
    expect(rest).toEqual({ degraded: false })
    expect(ranked(scores)[0]).toBe('login')
    expect(scores.get('login')).toBeCloseTo(1, 6)
    expect(scores.get('cache')).toBe(0)
  })

  test('a search with a model scores by the cosine', async () => {
    const { search } = world(playedEmbedder())
    const { scores } = await search.rank([searchDoc('both', 'redis release')], 'cache')
    expect(scores.get('both')).toBeCloseTo(Math.SQRT1_2, 6)
  })

  test('a search with a model embeds summary and body, and nothing else', async () => {
    const embedder = playedEmbedder()
    await world(embedder).search.rank([LOGIN, CACHE], 'cache')
    expect(embedder.asked).toEqual([
      ['cache'],
      ['Password checks moved They live behind sign in now.', 'Redis is gone'],
    ])
  })

  test('a search with a model embeds only new texts', async () => {
    const embedder = playedEmbedder()
    const { search } = world(embedder)
    await search.rank([LOGIN], 'a')
    await search.rank([LOGIN, CACHE], 'b')
    await search.rank([CACHE], 'c')
    await search.rank([{ ...CACHE, also: 'another tag' }], 'd')
    expect(embedder.asked.map((batch) => batch.length)).toEqual([1, 1, 1, 1, 1, 1])
  })

  test('a search with a model forgets removed texts, and embeds changed ones again', async () => {
    const { search } = world(playedEmbedder())
    await search.rank(DOCS, 'cache')
    const { scores } = await search.rank([LOGIN, { ...CACHE, title: 'We deploy with Redis' }], 'release')
    expect([...scores.keys()].sort()).toEqual(['cache', 'login'])
    expect(scores.get('cache')).toBeCloseTo(Math.SQRT1_2, 6)
  })

  test('a search with a model for an empty text finds nothing and does not use the model', async () => {
    const embedder = playedEmbedder()
    expect(await world(embedder).search.rank(DOCS, ' \n')).toEqual({ scores: new Map(), degraded: false })
    expect(embedder.asked).toEqual([])
  })

  test('a search with a model among no documents finds nothing', async () => {
    const { search } = world(playedEmbedder())
    expect(await search.rank([], 'cache')).toEqual({ scores: new Map(), degraded: false })
  })

  test('concurrent searches with a model are possible', async () => {
    const { search } = world(playedEmbedder())
    const asked = ['login', 'cache', 'deploy'].map((query) => search.rank(DOCS, query))
    search.learn(DOCS)
    const best = (await Promise.all(asked)).map(({ scores }) => ranked(scores)[0])
    expect(best).toEqual(['login', 'cache', 'release'])
  })

  test('a search with a model loads the model at its first use', async () => {
    const embedder = playedEmbedder()
    const { search } = world(embedder)
    await atRest()
    expect(embedder.asked).toEqual([])
    await search.rank(DOCS, 'cache')
    expect(embedder.asked).not.toEqual([])
  })
})

describe('many new texts', () => {
  test('many new texts are found by words until they are embedded, which a query does not wait for', async () => {
    const embedder = playedEmbedder()
    const { search, clock } = world(embedder)
    const docs = [...many(40), LOGIN]
    const first = await search.rank(docs, 'password')
    expect(first.degraded).toBe(true)
    expect(first.degraded_reason).toContain('of 41 texts are not embedded yet')
    expect(ranked(first.scores)[0]).toBe('login')
    await search.settle()
    const second = await search.rank(docs, 'authentication')
    expect(second.degraded).toBe(false)
    expect(ranked(second.scores)[0]).toBe('login')
    expect(Math.max(...embedder.asked.map((batch) => batch.length))).toBeLessThanOrEqual(16)
    expect(embedder.asked.flat().filter((text) => text.startsWith('release'))).toHaveLength(40)
    expect(clock.armed()).toBe(0)
  })

  test('many new texts are embedded before a query if they are announced', async () => {
    const embedder = playedEmbedder()
    const { search } = world(embedder)
    search.learn(many(40))
    search.learn([...many(40), CACHE])
    await search.settle()
    const before = embedder.asked.length
    const { degraded } = await search.rank([], 'nothing is there any more')
    expect(degraded).toBe(false)
    expect(embedder.asked).toHaveLength(before + 1)
  })
})

test('an unreadable row fails its own search, and no later one', async () => {
  const clock = fakeClock()
  for (const embedder of [null, playedEmbedder()]) {
    const search = createSearch<SearchDoc>({
      embedder,
      vectors: null,
      clock,
      log: silentLog,
      read(doc) {
        if (doc.id === 'bad') throw new Error('cannot be read')
        return doc
      },
    })
    search.learn([searchDoc('bad', 'redis')])
    await search.settle()
    await expect(search.rank([searchDoc('bad', 'redis')], 'redis')).rejects.toThrow('cannot be read')
    expect(ranked((await search.rank(DOCS, 'redis')).scores)[0]).toBe('cache')
  }
})

describe('without a model', () => {
  test('a search without a model uses words, and returns how to add a model', async () => {
    const { scores, degraded, degraded_reason } = await world(null).search.rank(DOCS, 'redis')
    expect(ranked(scores)).toEqual(['cache'])
    expect(degraded).toBe(true)
    expect(degraded_reason).toContain('memory.model_dir')
  })

  test('announced texts are indexed before a query, and nothing is stored', async () => {
    const read: string[] = []
    const shelf = playedShelf()
    const clock = fakeClock()
    const search = createSearch<SearchDoc>({
      embedder: null,
      vectors: shelf,
      clock,
      log: silentLog,
      read(doc) {
        read.push(doc.id)
        return doc
      },
    })
    search.learn(DOCS)
    await search.settle()
    expect(read).toEqual(['login', 'cache', 'release'])
    await search.rank(DOCS, 'redis')
    await search.close()
    expect(read).toHaveLength(3)
    expect(shelf.saves).toBe(0)
    expect(clock.armed()).toBe(0)
  })
})

describe('with a model that fails', () => {
  test('a search with a failing model uses words, returns why, and warns once', async () => {
    const embedder = playedEmbedder()
    embedder.fail('onnxruntime-node is not installed')
    const { search, warnings } = world(embedder)
    for (const query of ['redis', 'ship', 'redis']) {
      const { degraded, degraded_reason } = await search.rank(DOCS, query)
      expect(degraded).toBe(true)
      expect(degraded_reason).toBe('onnxruntime-node is not installed. Mend it.')
    }
    search.learn(many(3))
    await search.settle()
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('onnxruntime-node is not installed')
  })

  test('a search uses the model again once it works', async () => {
    const embedder = playedEmbedder()
    const { search, warnings } = world(embedder)
    embedder.fail('no memory left')
    expect((await search.rank(DOCS, 'redis')).degraded).toBe(true)
    embedder.fail(null)
    const { scores, degraded } = await search.rank(DOCS, 'authentication')
    expect(degraded).toBe(false)
    expect(ranked(scores)[0]).toBe('login')
    embedder.fail('no memory left')
    expect((await search.rank(DOCS, 'ship')).degraded).toBe(true)
    expect(warnings).toHaveLength(2)
  })

  test('texts other than the failing one are found by their meaning', async () => {
    const embedder = playedEmbedder()
    const { search } = world({
      model: 'picky',
      embed: (texts) =>
        texts.some((text) => text.includes('poison'))
          ? Promise.reject(new Error('ouch'))
          : embedder.embed(texts),
    })
    await search.rank(DOCS, 'cache')
    const { scores, degraded, degraded_reason } = await search.rank(
      [...DOCS, searchDoc('bad', 'poison')],
      'authentication',
    )
    expect(ranked(scores)[0]).toBe('login')
    expect(degraded).toBe(true)
    expect(degraded_reason).toContain('ouch')
  })

  test.each<[string, (texts: readonly string[]) => Promise<Float32Array[]>]>([
    ['throws a value that is not an error', () => Promise.reject(new Error('segment'))],
    ['returns too few vectors', () => Promise.resolve([])],
    ['returns empty vectors', (texts) => Promise.resolve(texts.map(() => new Float32Array()))],
    [
      'returns values that are not numbers',
      (texts) => Promise.resolve(texts.map(() => Float32Array.of(NaN, 1))),
    ],
    [
      'returns different dimensions',
      (texts) => Promise.resolve(texts.map((_, at) => new Float32Array(at + 2).fill(1))),
    ],
  ])('a search does not fail with a model that %s', async (_, embed) => {
    const { scores, degraded } = await world({ model: 'odd', embed }).search.rank(DOCS, 'redis')
    expect(degraded).toBe(true)
    expect(scores.get('cache')).toBeGreaterThan(0)
  })

  test('a search with a slow model uses words in the meantime', async () => {
    const embedder = playedEmbedder()
    const release = embedder.hold()
    const { search, clock } = world(embedder)
    const asked = search.rank(DOCS, 'redis')
    await atRest()
    await clock.advance(60_000)
    const { scores, degraded_reason } = await asked
    expect(ranked(scores)).toEqual(['cache'])
    expect(degraded_reason).toContain('did not respond within')
    release()
    await atRest()
    expect((await search.rank(DOCS, 'authentication')).degraded).toBe(false)
  })
})

describe('the vector store', () => {
  test('the vector store keeps embedded texts for the next start', async () => {
    const shelf = playedShelf()
    const before = world(playedEmbedder(), shelf)
    await before.search.rank(DOCS, 'cache')
    await before.search.close()
    expect(shelf.kept).toMatchObject({ model: 'played', dimension: 4 })
    expect(shelf.kept?.entries.map(({ id }) => id)).toEqual(['login', 'cache', 'release'])
    const embedder = playedEmbedder()
    const { scores } = await world(embedder, shelf).search.rank(DOCS, 'authentication')
    expect(ranked(scores)[0]).toBe('login')
    expect(embedder.asked).toEqual([['authentication']])
  })

  test('a vector store of many texts is loaded as a whole', async () => {
    const docs = many(450)
    const shelf = playedShelf()
    const before = world(playedEmbedder(), shelf)
    before.search.learn(docs)
    await before.search.settle()
    const embedder = playedEmbedder()
    const { scores, degraded } = await world(embedder, shelf).search.rank(docs, 'deployment')
    expect(degraded).toBe(false)
    expect(scores.size).toBe(450)
    expect(embedder.asked).toEqual([['deployment']])
  })

  test('the vector store is written some time after the first change, and not for each', async () => {
    const shelf = playedShelf()
    const { search, clock } = world(playedEmbedder(), shelf)
    await search.rank([LOGIN], 'a')
    await search.rank(DOCS, 'b')
    expect(shelf.saves).toBe(0)
    await clock.advance(60_000)
    expect(shelf.saves).toBe(1)
    expect(shelf.kept?.entries).toHaveLength(3)
    await search.rank(DOCS, 'c')
    await search.close()
    expect(shelf.saves).toBe(1)
    expect(clock.armed()).toBe(0)
  })

  test('the vector store drops removed texts, also those removed while the hub was down', async () => {
    const entries = [...DOCS, searchDoc('old', 'old')].map(({ id, title, body }) => ({
      id,
      digest: null,
      vector: vectorOf(`${title} ${body}`),
    }))
    const shelf = playedShelf({ model: 'played', dimension: 4, entries })
    const embedder = playedEmbedder()
    const { search } = world(embedder, shelf)
    await search.rank([LOGIN, CACHE], 'cache')
    await search.settle()
    expect(shelf.kept?.entries.map(({ id }) => id).sort()).toEqual(['cache', 'login'])
    expect(embedder.asked).toEqual([['cache']])
  })

  test('a vector is not used if its text has changed', async () => {
    const shelf = playedShelf()
    const before = world(playedEmbedder(), shelf)
    await before.search.rank([CACHE], 'cache')
    await before.search.close()
    const { search } = world(playedEmbedder(), shelf)
    const { scores } = await search.rank([{ ...CACHE, title: 'About the release' }], 'release')
    expect(scores.get('cache')).toBe(1)
  })

  test.each([
    ['another model', 'other', 4],
    ['another dimension', 'played', 3],
  ])('a vector store of %s is recreated', async (_, model, dimension) => {
    const entries = DOCS.map(({ id }) => ({ id, digest: null, vector: new Float32Array(dimension).fill(1) }))
    const shelf = playedShelf({ model, dimension, entries })
    const { search } = world(playedEmbedder(), shelf)
    const { scores, degraded } = await search.rank(DOCS, 'authentication')
    expect(degraded).toBe(false)
    expect(ranked(scores)[0]).toBe('login')
    await search.close()
    expect(shelf.kept).toMatchObject({ model: 'played', dimension: 4 })
  })

  test('an unwritable vector store is reported, without another effect', async () => {
    const shelf = playedShelf()
    shelf.broken = true
    const { search, warnings } = world(playedEmbedder(), shelf)
    expect((await search.rank(DOCS, 'authentication')).degraded).toBe(false)
    await search.close()
    expect(warnings).toEqual(['vectors not saved; the next start embeds the texts again'])
  })

  test('the vector store contains finished vectors when the hub closes during the work', async () => {
    const shelf = playedShelf()
    const embedder = playedEmbedder()
    const release = embedder.hold()
    const { search } = world(embedder, shelf)
    search.learn(many(100))
    await atRest()
    const closing = search.close()
    release()
    await closing
    expect(shelf.kept?.entries).toHaveLength(16)
    expect(embedder.asked).toHaveLength(1)
  })
})
