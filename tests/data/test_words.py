"""TF-IDF from a stored vocabulary is what scikit-learn computed when it learned the vocabulary."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from sklearn.feature_extraction.text import TfidfVectorizer

from ngcn.data import words

TEXTS = ["Old iron works, new STEEL works", "steel mill", "Œuvre of iron", "", "Iron and steel; mill 12", "works"]


def test_the_stored_vocabulary_gives_the_same_values() -> None:
    vocabulary, idf = words.learn(pa.array(TEXTS))
    assert vocabulary == ("iron", "mill", "steel", "works")
    want = TfidfVectorizer(vocabulary=vocabulary).fit(TEXTS).transform(TEXTS)
    X = words.tf_idf(pa.array([*TEXTS, None, "unknown words"]), vocabulary, idf)
    assert X.dtype == np.float32
    np.testing.assert_allclose(X.toarray(), np.vstack([want.toarray(), np.zeros((2, 4))]), rtol=1e-6)


def test_the_number_of_words_is_bounded() -> None:
    texts = [f"word{i} word{i} again{i % 7}" for i in range(2 * words.MOST_WORDS)] * 2
    vocabulary, idf = words.learn(pa.array(texts))
    assert len(vocabulary) == len(idf) == words.MOST_WORDS and {f"again{i}" for i in range(7)} < set(vocabulary)
    assert words.learn(pa.array(["one", "two", "three"])) == ((), ())
