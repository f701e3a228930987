import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { SearchDoc } from '../../../../src/modules/search/search-doc.ts'
import { createSearch } from '../../../../src/modules/search/search.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import {
  createOnnxEmbedder,
  type OnnxEmbedderOptions,
} from '../../../../src/system/embedding/onnx-embedder.ts'
import type { Feed, Output } from '../../../../src/system/embedding/onnx-session.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'
import { searchDoc } from '../../../support/search-docs.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'
import { writeTinyModel } from '../../../support/fakes/tiny-model.ts'

let home: string
let model_dir: string
beforeEach(() => {
  home = temporaryDirectory()
  model_dir = path.join(home, 'models', 'tiny')
  writeTinyModel(model_dir)
})

/** Installs a fake runtime with this code in the home. */
function install(code: string): void {
  const folder = path.join(home, 'node_modules', 'onnxruntime-node')
  fs.mkdirSync(folder, { recursive: true })
  fs.writeFileSync(path.join(folder, 'package.json'), '{"name":"onnxruntime-node","main":"index.cjs"}')
  fs.writeFileSync(path.join(folder, 'index.cjs'), code)
}

function embedderOf(more: Partial<OnnxEmbedderOptions> = {}) {
  const embedder = createOnnxEmbedder({ model_dir, places: [home], ...more })
  onTestFinished(() => embedder.close())
  return embedder
}

const refusal = (detail: string) => ({
  code: 'embedding_failed',
  detail: expect.stringContaining(detail) as string,
})

interface Played {
  inputs?: string[]
  outputs?: string[]
  answer?: (ids: Feed) => Output
}

/** A network whose every token is `[its number, 1]`, and its inputs. */
function playedNetwork({
  inputs = ['input_ids', 'attention_mask', 'token_type_ids'],
  outputs = ['last_hidden_state'],
  answer = ({ data, dims }) => ({
    data: Float32Array.from([...data].flatMap((id) => [Number(id), 1])),
    dims: [...dims, 2],
  }),
}: Played = {}) {
  install('')
  const asked: Record<string, Feed>[] = []
  const wanted: string[] = []
  const network = { asked, wanted, opened: 0, alive: true, closed: 0, trouble: null as string | null }
  const open = () => {
    network.opened++
    if (network.trouble !== null) return Promise.reject(new Error(network.trouble))
    return Promise.resolve({
      inputs,
      outputs,
      alive: () => network.alive,
      run(feeds: Readonly<Record<string, Feed>>, output: string) {
        asked.push({ ...feeds })
        wanted.push(output)
        if (!network.alive) return Promise.reject(new Error('gone'))
        return Promise.resolve(answer(feeds['input_ids'] ?? { data: new BigInt64Array(), dims: [] }))
      },
      close() {
        network.closed++
        return Promise.resolve()
      },
    })
  }
  return { network, open }
}

describe('texts are given to a network', () => {
  test('texts are passed as rows of one length, with a mask of the tokens', async () => {
    const { network, open } = playedNetwork()
    await embedderOf({ open }).embed(['login', 'login cache redis'])
    const [feeds] = network.asked
    expect(feeds?.['input_ids']?.dims).toEqual([2, 5])
    expect(feeds?.['input_ids']?.data).toEqual(BigInt64Array.of(2n, 4n, 3n, 0n, 0n, 2n, 4n, 6n, 7n, 3n))
    expect(feeds?.['attention_mask']?.data).toEqual(BigInt64Array.of(1n, 1n, 1n, 0n, 0n, 1n, 1n, 1n, 1n, 1n))
    expect(feeds?.['token_type_ids']?.data).toEqual(new BigInt64Array(10))
  })

  test('texts are passed under the input names of the network', async () => {
    const { network, open } = playedNetwork({ inputs: ['attention_mask', 'input_ids'] })
    await embedderOf({ open }).embed(['login'])
    expect(Object.keys(network.asked[0] ?? {})).toEqual(['attention_mask', 'input_ids'])
  })

  test('a bounded number of texts is passed at a time, and none without texts', async () => {
    const { network, open } = playedNetwork()
    const embedder = embedderOf({ open })
    expect(await embedder.embed([])).toEqual([])
    expect(network.opened).toBe(0)
    expect(await embedder.embed(Array.from({ length: 40 }, () => 'login'))).toHaveLength(40)
    expect(network.asked.map((feeds) => feeds['input_ids']?.dims[0])).toEqual([16, 16, 8])
  })
})

describe('a vector is', () => {
  const of = (x: number, y: number) => Float32Array.of(x / Math.hypot(x, y), y / Math.hypot(x, y))

  test('a vector is the mean of the tokens that are text, of length 1', async () => {
    const { open } = playedNetwork()
    const [short, long] = await embedderOf({ open }).embed(['login', 'login cache redis'])
    expect(short).toEqual(of(2 + 4 + 3, 3))
    expect(long).toEqual(of(2 + 4 + 6 + 7 + 3, 5))
  })

  test('a vector is the first token if the model was trained so', async () => {
    fs.mkdirSync(path.join(model_dir, '1_Pooling'))
    fs.writeFileSync(path.join(model_dir, '1_Pooling', 'config.json'), '{"pooling_mode_cls_token":true}')
    const { open } = playedNetwork()
    expect(await embedderOf({ open }).embed(['login'])).toEqual([of(2, 1)])
  })

  test('a vector is the sentence output if the network has one', async () => {
    const { network, open } = playedNetwork({
      outputs: ['token_embeddings', 'sentence_embedding'],
      answer: ({ dims }) => ({ data: Float32Array.of(3, 4, 0, 2), dims: [dims[0] ?? 0, 2] }),
    })
    const vectors = await embedderOf({ open }).embed(['login', 'cache'])
    expect(vectors).toEqual([of(3, 4), of(0, 2)])
    expect(network.wanted).toEqual(['sentence_embedding'])
  })
})

describe('a model is loaded', () => {
  test('a model is loaded at the first text, and once for all', async () => {
    const { network, open } = playedNetwork()
    const embedder = embedderOf({ open })
    expect(embedder.model).toBe('tiny')
    expect(network.opened).toBe(0)
    await Promise.all([embedder.embed(['login']), embedder.embed(['cache'])])
    await embedder.embed(['redis'])
    expect(network.opened).toBe(1)
  })

  test('a model that failed to load is not loaded again for a while', async () => {
    const clock = fakeClock()
    const { network, open } = playedNetwork()
    network.trouble = 'no memory'
    const embedder = embedderOf({ open, monotonic: () => clock.monotonic() })
    for (let time = 0; time < 3; time++)
      await expect(embedder.embed(['login'])).rejects.toMatchObject(refusal('could not be loaded: no memory'))
    expect(network.opened).toBe(1)
    network.trouble = null
    await clock.advance(59_000)
    await expect(embedder.embed(['login'])).rejects.toMatchObject(refusal('no memory'))
    await clock.advance(1_000)
    expect(await embedder.embed(['login'])).toHaveLength(1)
    expect(network.opened).toBe(2)
  })

  test('a model is loaded again when its thread has ended', async () => {
    const { network, open } = playedNetwork()
    const embedder = embedderOf({ open })
    await embedder.embed(['login'])
    network.alive = false
    await expect(embedder.embed(['login'])).rejects.toMatchObject(refusal('the model tiny failed: gone'))
    network.alive = true
    expect(await embedder.embed(['login'])).toHaveLength(1)
    expect(network.opened).toBe(2)
  })

  test('a model is released when it is closed', async () => {
    const { network, open } = playedNetwork()
    const embedder = embedderOf({ open })
    await embedder.close()
    await embedder.embed(['login'])
    await embedder.close()
    await embedder.close()
    expect(network.closed).toBe(1)
  })
})

describe('a network is refused', () => {
  test('a network with an unknown input is rejected', async () => {
    const { open } = playedNetwork({ inputs: ['input_ids', 'pixel_values'] })
    await expect(embedderOf({ open }).embed(['login'])).rejects.toMatchObject(refusal('pixel_values'))
  })
  test('a network without a sentence output is rejected', async () => {
    const { open } = playedNetwork({ outputs: ['logits'] })
    await expect(embedderOf({ open }).embed(['login'])).rejects.toMatchObject(refusal('logits'))
  })
})

/** Fake of the runtime, which is not installed everywhere, in a real thread. */
const RUNTIME = `
  exports.Tensor = class { constructor(type, data, dims) { Object.assign(this, { type, data, dims }) } }
  exports.InferenceSession = { create: async (file) => {
    if (!require('node:fs').existsSync(file)) throw new Error('no such network')
    return {
      inputNames: ['input_ids'], outputNames: ['last_hidden_state'],
      async run({ input_ids: { type, data, dims } }, [output]) {
        if (data.includes(9n)) throw new Error('exclamations are not for me')
        if (data.includes(7n)) process.exit(3)
        return { [output]: { data: Float32Array.from([...data].flatMap((id) => [Number(id), 1])), dims: [...dims, type === 'int64' ? 2 : 0] } }
      },
    }
  } }
`

describe('the runtime', () => {
  test('the runtime is found in the home, and computes in a thread', async () => {
    install(RUNTIME)
    const [vector] = await embedderOf().embed(['login'])
    expect(vector?.[0]).toBeCloseTo(9 / Math.hypot(9, 3), 6)
  })

  test('the runtime is found at the model', async () => {
    install(RUNTIME)
    expect(await embedderOf({ places: [] }).embed(['login'])).toHaveLength(1)
  })

  test('a rejected text does not affect the next one', async () => {
    install(RUNTIME)
    const embedder = embedderOf()
    await expect(embedder.embed(['login!'])).rejects.toMatchObject(refusal('exclamations are not for me'))
    expect(await embedder.embed(['login'])).toHaveLength(1)
  })

  test("the end of the runtime's thread does not end the process, and the thread is restarted", async () => {
    install(RUNTIME)
    const embedder = embedderOf()
    await expect(embedder.embed(['redis'])).rejects.toMatchObject(
      refusal('the thread of the model has ended'),
    )
    expect(await embedder.embed(['login'])).toHaveLength(1)
  })

  test('a broken runtime is reported with its own message', async () => {
    install("throw new Error('wrong kind of machine')")
    await expect(embedderOf().embed(['login'])).rejects.toMatchObject(refusal('wrong kind of machine'))
  })

  test('without a runtime searches match words, and the error has a hint', async () => {
    const clock = fakeClock()
    const parts = { embedder: embedderOf(), vectors: null, clock, log: silentLog }
    const search = createSearch<SearchDoc>({ ...parts, read: (doc) => doc })
    const { scores, degraded, degraded_reason } = await search.rank([searchDoc('a', 'the login')], 'login')
    expect(scores.get('a')).toBeGreaterThan(0)
    expect(degraded).toBe(true)
    expect(degraded_reason).toContain('onnxruntime-node is not installed')
    expect(degraded_reason).toContain(`npm install --prefix ${home} onnxruntime-node`)
  })
})
