/** Asks an embedder and looks at what it answers: one that may be mistaken is another's code. */
import { TurnbellError } from '../../contracts/errors.ts'
import type { Embedder } from '../../ports/embedder.ts'

/** @throws `embedding_failed`, whatever the embedder threw or answered instead. */
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
    throw failed(`the model ${embedder.model} gave ${vectors.length} vectors for ${texts.length} texts`)
  }
  if (vectors.some((vector) => vector.length !== dimension || !vector.every(Number.isFinite))) {
    throw failed(`the model ${embedder.model} gave vectors that cannot be compared`)
  }
  return vectors
}

function failed(detail: string, cause?: unknown): TurnbellError {
  return new TurnbellError('embedding_failed', {
    detail,
    hint: 'Look whether the folder that `memory.model_dir` names holds a whole model for sentences.',
    cause,
  })
}
