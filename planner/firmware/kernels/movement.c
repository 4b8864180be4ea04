/* section copy_blocks: image */
/* Some bytes of each column of one tensor become bytes of each column of another. */
typedef struct {
  int32_t in_pixel;
  int32_t in_at;
  int32_t out_pixel;
  int32_t out_at;
  int32_t bytes;
} copy_blocks_layer;

static void copy_blocks(const copy_blocks_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                        int32_t end) {
  const uint8_t *from = place_in(in, row, first, layer->in_pixel) + layer->in_at;
  uint8_t *to = place_in(out, row, first, layer->out_pixel) + layer->out_at;
  for (int32_t column = first; column < end; ++column) {
    memcpy(to, from, (size_t)layer->bytes);
    from += layer->in_pixel;
    to += layer->out_pixel;
  }
}

/* section copy_strided */
/* Runs of bytes, with steps of their own in both tensors. */
typedef struct {
  int32_t extents[5];
  int32_t in_steps[5];
  int32_t out_steps[5];
  int32_t in_at;
  int32_t out_at;
  int32_t bytes;
} copy_strided_layer;

static void copy_strided(const copy_strided_layer *layer, const uint8_t *in, uint8_t *out) {
  int32_t index[5] = {0, 0, 0, 0, 0};
  int32_t from = layer->in_at;
  int32_t to = layer->out_at;
  for (;;) {
    memcpy(out + to, in + from, (size_t)layer->bytes);
    int32_t axis = 4;
    for (;; --axis) {
      if (axis < 0) {
        return;
      }
      from += layer->in_steps[axis];
      to += layer->out_steps[axis];
      if (++index[axis] < layer->extents[axis]) {
        break;
      }
      from -= layer->in_steps[axis] * layer->extents[axis];
      to -= layer->out_steps[axis] * layer->extents[axis];
      index[axis] = 0;
    }
  }
}

/* section fill_T: elem_T */
typedef struct {
  int32_t count;
  elem_T value;
} fill_T_layer;

static void fill_T(const fill_T_layer *layer, const uint8_t *in, uint8_t *out) {
  elem_T *to = (elem_T *)(void *)out;
  (void)in;
  for (int32_t at = 0; at < layer->count; ++at) {
    to[at] = layer->value;
  }
}
