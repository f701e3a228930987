/**
 * Embeds texts with a local model by onnxruntime-node. Nothing is downloaded: the person installs the model and the
 * runtime.
 *
 * The runtime is not part of turnbell because it takes hundreds of megabytes. It is searched at turnbell, at the model
 * and in the home.
 */
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Embedder } from '../../ports/embedder.ts'
import { findPackage, moduleAddress } from '../process/load-module.ts'
import { readModelFolder, type ModelFolder } from './model-folder.ts'
import { openSession, type Feed, type OpenSession, type Output, type Session } from './onnx-session.ts'

export interface OnnxEmbedderOptions {
  /** In the layout of Hugging Face: `model.onnx` or `onnx/model.onnx`, and `tokenizer.json` or `vocab.txt`. */
  model_dir: string
  /** Additional directories in which the runtime may be installed: the home. */
  places?: readonly string[]
  /** For tests. */
  open?: OpenSession
  monotonic?: () => number
}

export interface OnnxEmbedder extends Embedder {
  /** Releases the model. The next call loads it again. */
  close(): Promise<void>
}

const RUNTIME = 'onnxruntime-node'

interface Loaded {
  folder: ModelFolder
  session: Session
}

export function createOnnxEmbedder(options: OnnxEmbedderOptions): OnnxEmbedder {
  const { places = [], open = openSession, monotonic = () => performance.now() } = options
  const model_dir = path.resolve(options.model_dir)
  const model = path.basename(model_dir)
  let loading: Promise<Loaded> | null = null
  let failed_at: number | null = null

  async function load(): Promise<Loaded> {
    const { folder, runtime } = modelIn(model_dir, places)
    try {
      return { folder, session: await open({ runtime, network: folder.network }) }
    } catch (cause) {
      throw embeddingError(
        `${folder.network} could not be loaded: ${(cause as Error).message}`,
        'Look whether the file is whole, and whether onnxruntime-node is made for this machine and Node.',
        cause,
      )
    }
  }

  /** Loads once for all concurrent callers. */
  function loaded(): Promise<Loaded> {
    if (failed_at !== null && monotonic() - failed_at >= LIMITS.embedder_retry_ms) loading = null
    if (loading === null) {
      failed_at = null
      loading = load()
      loading.catch(() => (failed_at = monotonic()))
    }
    return loading
  }

  async function embedSome(texts: readonly string[], { folder, session }: Loaded): Promise<Float32Array[]> {
    const rows = texts.map(folder.tokenize)
    try {
      const { feeds, mask } = feedsOf(rows, session.inputs)
      const output = await session.run(feeds, outputOf(session))
      return vectorsOf(output, mask, folder.pooling)
    } catch (cause) {
      // A terminated thread is restarted by the next call.
      if (!session.alive()) loading = null
      if (cause instanceof TurnbellError) throw cause
      throw embeddingError(`the model ${model} failed: ${(cause as Error).message}`, WHOLE_MODEL, cause)
    }
  }

  return {
    model,
    async embed(texts) {
      const vectors: Float32Array[] = []
      for (let at = 0; at < texts.length; at += LIMITS.embedder_batch_max) {
        vectors.push(...(await embedSome(texts.slice(at, at + LIMITS.embedder_batch_max), await loaded())))
      }
      return vectors
    },
    async close() {
      const open = loading
      loading = null
      failed_at = null
      await (await open?.catch(() => null))?.session.close()
    },
  }
}

/** Checks the files of a model. Throws `embedding_failed` with a hint. */
export function modelIn(
  model_dir: string,
  places: readonly string[],
): { folder: ModelFolder; runtime: string } {
  const folder = readModelFolder(model_dir)
  return { folder, runtime: runtimeIn([import.meta.dirname, model_dir, ...places]) }
}

const WHOLE_MODEL = 'Use a complete sentence model, such as all-MiniLM-L6-v2.'

function runtimeIn(places: readonly string[]): string {
  const place = places.find((one) => findPackage(RUNTIME, one) !== null)
  if (place === undefined) {
    const near = places.at(-1) ?? '.'
    throw embeddingError(`${RUNTIME} is not installed`, `Install it: npm install --prefix ${near} ${RUNTIME}`)
  }
  return moduleAddress(RUNTIME, place)
}

/** Pads all rows to the longest; the mask marks the tokens. */
function feedsOf(
  rows: readonly (readonly number[])[],
  inputs: readonly string[],
): { feeds: Record<string, Feed>; mask: BigInt64Array } {
  const width = Math.max(...rows.map((row) => row.length))
  const dims = [rows.length, width]
  const ids = new BigInt64Array(rows.length * width)
  const mask = new BigInt64Array(rows.length * width)
  for (const [at, row] of rows.entries()) {
    ids.set(row.map(BigInt), at * width)
    mask.fill(1n, at * width, at * width + row.length)
  }
  const available: Record<string, BigInt64Array> = {
    input_ids: ids,
    attention_mask: mask,
    token_type_ids: new BigInt64Array(ids.length),
  }
  const feeds: Record<string, Feed> = {}
  for (const name of inputs) {
    const data = available[name]
    if (data === undefined) throw embeddingError(`the model requires the unknown input ${name}`, WHOLE_MODEL)
    feeds[name] = { data, dims }
  }
  return { feeds, mask }
}

const OUTPUTS = ['sentence_embedding', 'last_hidden_state', 'token_embeddings']

function outputOf({ outputs }: Session): string {
  const output = OUTPUTS.find((name) => outputs.includes(name))
  if (output === undefined) {
    throw embeddingError(
      `the model answers ${outputs.join(', ')}, and none of ${OUTPUTS.join(', ')}`,
      WHOLE_MODEL,
    )
  }
  return output
}

/** The output has one row for each text, or one for each token. */
function vectorsOf(
  { data, dims }: Output,
  mask: BigInt64Array,
  pooling: ModelFolder['pooling'],
): Float32Array[] {
  const dimension = dims.at(-1) ?? 0
  const texts = dims[0] ?? 0
  const width = dims.length === 3 ? (dims[1] ?? 0) : 1
  return Array.from({ length: texts }, (_, text) => {
    const sum = new Float32Array(dimension)
    for (let token = 0; token < (pooling === 'first' ? 1 : width); token++) {
      if (dims.length === 3 && mask[text * width + token] === 0n) continue
      const start = (text * width + token) * dimension
      for (let at = 0; at < dimension; at++) sum[at] = (sum[at] ?? 0) + (data[start + at] ?? 0)
    }
    // The mean has the direction of the sum, and only the direction is used.
    const length = Math.hypot(...sum)
    return sum.map((value) => value / length)
  })
}

function embeddingError(detail: string, hint: string, cause?: unknown): TurnbellError {
  return new TurnbellError('embedding_failed', { detail, hint, cause })
}
