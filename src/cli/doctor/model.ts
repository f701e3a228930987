/** The model that memory is searched with, where one is configured. Without it words are what counts. */
import { modelIn } from '../../system/onnx-embedder.ts'
import type { Invocation } from '../cli.ts'
import { fine, refusedBy, warning, type Finding } from './finding.ts'

export function checkModel(invocation: Invocation): Finding[] {
  const { model_dir } = invocation.config().memory
  if (model_dir === undefined) return []
  try {
    modelIn(model_dir, [invocation.home.root])
    return [fine('model', model_dir)]
  } catch (error) {
    const { detail, mend } = refusedBy('model', error, invocation.cli.ids)
    return [warning('model', `${detail}; memory is searched by words`, mend ?? '')]
  }
}
