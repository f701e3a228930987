/**
 * What turns texts into vectors, so that texts which mean the same lie close together.
 * `src/system/onnx-embedder.ts` does, with a model on this machine.
 */
export interface Embedder {
  /** Vectors of one model say nothing to those of another. */
  readonly model: string
  /**
   * One vector a text, in their order: of length 1, and all of one dimension, however often it is asked.
   * What it needs is loaded at the first call, not before.
   *
   * @throws `embedding_failed`, with what a person can mend as its hint.
   */
  embed(texts: readonly string[]): Promise<Float32Array[]>
}
