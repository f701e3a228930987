/**
 * Turns texts into vectors, so that texts of similar meaning have a small distance.
 * `src/system/embedding/onnx-embedder.ts` implements it with a model on this machine.
 */
export interface Embedder {
  /** Name of the model. Vectors of different models must not be compared. */
  readonly model: string
  /**
   * Returns one vector per text, in order: of length 1 and always of the same dimension. The model is loaded at the
   * first call.
   *
   * @throws `embedding_failed`, with a hint for the operator.
   */
  embed(texts: readonly string[]): Promise<Float32Array[]>
}
