/** Calls an embedder and validates its result, because it is third-party code. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Embedder } from '../../ports/embedder.ts'

/** Throws `embedding_failed` for any error of the embedder and for invalid vectors. */
export async function embedAll(embedder: Embedder, texts: readonly string[]): Promise<Float32Array[]> {
  let vectors: Float32Array[]
  try {
    vectors = await embedder.embed(texts)
  } catch (cause) {
    if (cause instanceof TurnbellError && cause.code === 'embedding_failed') throw cause
    throw failed(`the model ${embedder.model} failed: ${String(cause)}`, cause)
  }
  const dimension = vectors[0]?.length ?? 0
  if (vectors.length !== texts.length || dimension === 0) {
    throw failed(`the model ${embedder.model} returned ${vectors.length} vectors for ${texts.length} texts`)
  }
  if (vectors.some((vector) => vector.length !== dimension || !vector.every(Number.isFinite))) {
    throw failed(`the model ${embedder.model} returned invalid vectors`)
  }
  return vectors
}

function failed(detail: string, cause?: unknown): TurnbellError {
  return new TurnbellError('embedding_failed', {
    detail,
    hint: 'Check that the folder in `memory.model_dir` contains a complete sentence model.',
    cause,
  })
}
