import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createKeywordIndex } from '../../../../src/modules/search/keyword-index.ts'
import type { SearchDoc } from '../../../../src/modules/search/search-doc.ts'
import { ranked, searchDoc } from '../../../support/search-docs.ts'

const tickOfTheLoop = () => new Promise<void>((done) => setImmediate(done))

function emptyIndex() {
  return createKeywordIndex<SearchDoc>({ read: (doc) => doc, pause: tickOfTheLoop })
}

async function indexOf(docs: readonly SearchDoc[]) {
  const index = emptyIndex()
  await index.sync(docs)
  const search = (query: string) => index.search(query)
  return { search, found: (query: string) => ranked(search(query)) }
}

const DOCS = [
  searchDoc('jwt', 'Access tokens are signed as JWT', {
    body: 'Every service checks the signature with the public key.',
    also: 'auth src/auth/jwt.ts',
  }),
  searchDoc('cache', 'Rows are cached in Redis', {
    body: 'The cache is emptied when somebody writes.',
    also: 'cache src/storage/rowCache.ts',
  }),
  searchDoc('deploy', 'Deployment waits for the migration', {
    body: 'Tokens of the old release stay valid for an hour, and migrations run first.',
    also: 'release scripts/deploy.sh',
  }),
]

describe('a word finds', () => {
  test.each<[string, string, string[]]>([
    ['a document that contains it', 'redis', ['cache']],
    ['a document that contains it in capitals', 'REDIS', ['cache']],
    ['the folder of a path', 'auth', ['jwt']],
    ['a path as a whole', 'src/auth/jwt.ts', ['jwt', 'cache']],
    ['a part of an identifier', 'row', ['cache']],
    ['an identifier in another spelling', 'row_cache', ['cache']],
    ['a plural by its singular', 'signatures', ['jwt']],
    ['a singular by its plural', 'migration', ['deploy']],
    ['words that begin with it', 'deploy', ['deploy']],
    ['words that begin with it, without an exact match', 'migra', ['deploy']],
    ['a word that it misspells', 'signatrue', ['jwt']],
    ['a word that it misspells at its beginning', 'derployment', ['deploy']],
    ['a match in the title before other matches', 'token', ['jwt', 'deploy']],
  ])('a word finds %s: %s', async (_, query, ids) => expect((await indexOf(DOCS)).found(query)).toEqual(ids))

  test.each(['kubernetes', '', '  ', '!?', 'x', '"', '*', '\u0000', '🙂', '__proto__', 'constructor'])(
    'a word without a match finds nothing: %j',
    async (query) => expect((await indexOf(DOCS)).found(query)).toEqual([]),
  )

  test('a word named like a property of JavaScript objects is found', async () => {
    const { found } = await indexOf([searchDoc('a', 'constructor __proto__ toString'), ...DOCS])
    expect(found('constructor')).toEqual(['a'])
    expect(found('__proto__')).toEqual(['a'])
  })
})

describe('a score', () => {
  test('a score is near 1 for a document with every word, and lower with fewer', async () => {
    const { search } = await indexOf(DOCS)
    const all = search('access tokens signed jwt')
    const half = search('access tokens kubernetes quota')
    const none = search('kubernetes quota')
    expect(all.get('jwt')).toBeGreaterThan(0.9)
    expect(half.get('jwt')).toBeLessThan(Number(all.get('jwt')))
    expect(half.get('jwt')).toBeGreaterThan(0.2)
    expect(none.get('jwt')).toBeUndefined()
  })

  test('a score does not fall for the words of a task that no document contains', async () => {
    const { search, found } = await indexOf(DOCS)
    const task = `Please make the sign in endpoint reject requests whose JWT access tokens were signed with a
      key that the operator has since revoked, and write tests that show the difference to yesterday`
    expect(found(task)[0]).toBe('jwt')
    expect(search(task).get('jwt')).toBeGreaterThan(0.5)
  })

  test('a score weighs a rare word more than a frequent one', async () => {
    const common = Array.from({ length: 50 }, (_, at) => searchDoc(`c${at}`, 'the build is slow'))
    const { search } = await indexOf([...common, searchDoc('rare', 'the build of zlib')])
    const scores = search('slow zlib')
    expect(scores.get('rare')).toBeGreaterThan(Number(scores.get('c0')))
  })

  test('a score is higher for a whole word than for a prefix or a misspelling', async () => {
    const { search } = await indexOf([searchDoc('a', 'token'), searchDoc('b', 'tokenizer')])
    const scores = search('token')
    expect(scores.get('a')).toBeGreaterThan(Number(scores.get('b')))
    expect(search('tokan').get('a')).toBeLessThan(Number(scores.get('a')))
  })

  test('a score is above 0 and at most 1, for any documents and query', async () => {
    const word = fc.constantFrom('jwt', 'jwts', 'tokens', 'the', 'src/a.ts', 'rowCache', 'Äpfel', '漢字', '!')
    const text = fc.array(word, { maxLength: 12 }).map((words) => words.join(' '))
    const doc = fc.record({ title: text, body: text, also: text })
    await fc.assert(
      fc.asyncProperty(fc.array(doc, { maxLength: 8 }), text, async (docs, query) => {
        const { search } = await indexOf(docs.map((one, at) => ({ id: `d${at}`, ...one })))
        for (const score of search(query).values()) {
          expect(score).toBeGreaterThan(0)
          expect(score).toBeLessThanOrEqual(1)
        }
      }),
    )
  })
})

describe('a query', () => {
  test('a query of only common words is answered by its rarest', async () => {
    const docs = Array.from({ length: 9_000 }, (_, at) =>
      searchDoc(`d${at}`, `everywhere ${at % 2 === 0 ? 'often' : ''}`),
    )
    const { search } = await indexOf(docs)
    expect(search('everywhere often').size).toBe(4_500)
    expect(search('everywhere').size).toBe(9_000)
  })

  test('a query may have any length', async () => {
    const { found } = await indexOf(DOCS)
    expect(found(`redis ${'word '.repeat(100_000)}`)).toEqual(['cache'])
    expect(found('x'.repeat(1_000_000))).toEqual([])
  })
})

describe('updates of an index', () => {
  const [jwt, cache, deploy] = DOCS as [SearchDoc, SearchDoc, SearchDoc]

  test('an index follows added, changed and removed rows', async () => {
    const index = emptyIndex()
    const found = (query: string) => ranked(index.search(query))
    expect(found('redis')).toEqual([])
    await index.sync([jwt])
    expect(found('redis')).toEqual([])
    await index.sync([jwt, cache])
    expect(found('redis')).toEqual(['cache'])
    await index.sync([jwt, { ...cache, title: 'Rows are cached in memory' }])
    expect(found('redis')).toEqual([])
    expect(found('memory')).toEqual(['cache'])
    await index.sync([deploy])
    expect(found('memory jwt release')).toEqual(['deploy'])
    await index.sync([])
    expect(found('release')).toEqual([])
  })

  test('an index reads each row once', async () => {
    const read: string[] = []
    const index = createKeywordIndex<SearchDoc>({
      read(doc) {
        read.push(doc.id)
        return doc
      },
      pause: tickOfTheLoop,
    })
    await index.sync([cache, jwt])
    await index.sync([cache, jwt])
    await index.sync([jwt, deploy])
    await index.sync([deploy, jwt])
    expect(read).toEqual(['cache', 'jwt', 'deploy'])
  })

  test('concurrent updates of an index apply in order', async () => {
    const index = emptyIndex()
    await Promise.all([index.sync(DOCS), index.sync([jwt]), index.sync([jwt, cache])])
    expect(ranked(index.search('redis jwt release')).sort()).toEqual(['cache', 'jwt'])
  })

  test('an index is independent of later changes to the given list', async () => {
    const index = emptyIndex()
    const rows = [jwt, cache]
    await index.sync(rows)
    rows.push(deploy)
    await index.sync(rows)
    expect(ranked(index.search('release'))).toEqual(['deploy'])
  })

  test('an index yields to the event loop while it adds many rows', async () => {
    let pauses = 0
    const index = createKeywordIndex<SearchDoc>({
      read: (doc) => doc,
      pause() {
        pauses++
        return tickOfTheLoop()
      },
    })
    await index.sync(Array.from({ length: 100 }, (_, at) => searchDoc(`d${at}`, 'word '.repeat(200))))
    expect(pauses).toBeGreaterThan(5)
    const before = pauses
    await index.sync([])
    expect(pauses).toBeGreaterThan(before)
  })

  test('an updated index gives the same results as a new one', async () => {
    const texts = ['jwt tokens', 'row cache', 'redis cache', 'release']
    const list = fc.uniqueArray(fc.record({ id: fc.nat(9), text: fc.constantFrom(...texts) }), {
      selector: ({ id }) => id,
    })
    const known = new Map<string, SearchDoc>()
    const docOf = ({ id, text }: { id: number; text: string }) => {
      const key = `${id} ${text}`
      const doc = known.get(key) ?? searchDoc(`d${id}`, text)
      known.set(key, doc)
      return doc
    }
    await fc.assert(
      fc.asyncProperty(fc.array(list, { minLength: 1, maxLength: 6 }), async (lists) => {
        const index = emptyIndex()
        for (const one of lists) await index.sync(one.map(docOf))
        const anew = await indexOf((lists.at(-1) ?? []).map(docOf))
        for (const query of ['jwt', 'cache redis', 'releas', 'row tokens cache']) {
          const expected = anew.search(query)
          const got = index.search(query)
          expect([...got.keys()].sort()).toEqual([...expected.keys()].sort())
          for (const [id, score] of expected) expect(got.get(id)).toBeCloseTo(score, 9)
        }
      }),
    )
  })
})
